"""What a step would cost with each pattern tree, learned from the steps before."""
