"""What a step stores: files, manifests, the checkpoint folder."""
