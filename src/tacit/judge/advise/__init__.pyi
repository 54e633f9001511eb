from tacit.judge.advise.advice import Advice as Advice
from tacit.judge.advise.recommend import advise as advise
from tacit.judge.advise.recommend import fit_recommended as fit_recommended
