"""The window stage: merge partials into open panes, seal, slide, emit."""
