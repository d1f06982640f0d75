"""What users call: tables once, streams continuously."""
