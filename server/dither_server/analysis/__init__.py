"""What is told of estimates and beside them: answers, comparisons, courses over days, health, forging."""
