"""The screen: legibility and quality of a canon, and the verdict. Pure; nothing heavy is loaded before it is needed."""

from streams.screen.language import detect_language
from streams.screen.policy import Policy, Thresholds, load_policy, read_policy
from streams.screen.verdict import screen

__all__ = ["Policy", "Thresholds", "detect_language", "load_policy", "read_policy", "screen"]
