"""From reports that wait to bodies that the collector has taken: when, how they are cut, and the tries."""
