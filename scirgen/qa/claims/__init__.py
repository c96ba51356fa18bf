"""What an answer claims: its numbers and units, whether the evidence says them, and the nearest false answers."""
