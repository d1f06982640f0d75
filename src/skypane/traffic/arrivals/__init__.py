"""When records happen: Poisson, Markovian, self-similar, random walk, steps, recorded trace."""

from skypane.traffic.arrivals.base import Arrivals, Stretch
from skypane.traffic.arrivals.markov import MarkovArrivals
from skypane.traffic.arrivals.poisson import PoissonArrivals
from skypane.traffic.arrivals.selfsimilar import SelfSimilarArrivals
from skypane.traffic.arrivals.steps import SteppedArrivals
from skypane.traffic.arrivals.trace import TraceArrivals
from skypane.traffic.arrivals.walk import RandomWalkArrivals

__all__ = [
    "Arrivals",
    "MarkovArrivals",
    "PoissonArrivals",
    "RandomWalkArrivals",
    "SelfSimilarArrivals",
    "SteppedArrivals",
    "Stretch",
    "TraceArrivals",
]
