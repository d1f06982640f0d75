"""THE PATH of a record: panes/ (admit, lift, decide), windows/ (merge, slide, emit), late/ (past, harm, revisions)."""
