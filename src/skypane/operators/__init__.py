"""The data path as pure steps: admission, pane stage, the driver's decision, window stage."""
