"""skypane-lab: skypane's operators and strategies in virtual time, and the papers' figures made with them."""
