"""Whether anything may be drawn and sent: the rules, the administrator's policy, and what they mean for each metric."""
