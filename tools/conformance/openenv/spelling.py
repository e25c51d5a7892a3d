"""An OpenEnv environment: an episode asks for the spelling of two words, such as `c-a-t`, with a reward of ½ for each."""

import random

from openenv.core.env_server import Action, Environment, Observation, State, create_app

WORDS = ["computer", "hospital", "mountain", "elephant"]


class Spelling(Action):
    answer: str


class Question(Observation):
    prompt: str


class SpellingGame(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed=None, episode_id=None, **_):
        self.words = random.Random(seed).sample(WORDS, 2)
        self._state = State(episode_id=episode_id, step_count=0)
        return Question(prompt=f"spell {self.words[0]}")

    def step(self, action, **_):
        word, *more = self.words[self._state.step_count :]
        self._state.step_count += 1
        prompt = f"spell {more[0]}" if more else ""
        return Question(prompt=prompt, reward=0.5 * (action.answer == "-".join(word)), done=not more)

    @property
    def state(self):
        return self._state


app = create_app(SpellingGame, Spelling, Question, max_concurrent_envs=16)
