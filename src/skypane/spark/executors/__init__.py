"""Executors that follow degrees: skypane requests and releases them, or Spark does, or their number is fixed."""
