"""Speed and behaviour measured beside others: ripgrep, the bare SDK, the machine's limits."""
