"""A course of programming assignments that check themselves: `linnet learn`."""
