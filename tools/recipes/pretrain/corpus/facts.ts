// Simple facts: a small table of questions with one right answer each, in several wordings.
import type { Random } from "../../../../src/base/domain/random.ts";
import { type Exercise, fill, type Kind, pick, typedFreely } from "./exercise.ts";

interface Topic {
  readonly patterns: readonly string[];
  /** "subject answer" pairs, separated by commas; an underscore stands for a space. */
  readonly pairs: string;
}

const topics: readonly Topic[] = [
  {
    patterns: [
      "What is the capital of {x}?",
      "Capital of {x}?",
      "Which city is the capital of {x}?",
      "Tell me the capital of {x}.",
      "Name the capital of {x}.",
      "{x}'s capital is?",
      "What's the capital city of {x}?",
      "Do you know the capital of {x}?",
      "The capital of {x} is",
      "What is {x}'s capital?",
    ],
    pairs:
      "France Paris, Germany Berlin, Italy Rome, Spain Madrid, England London, Japan Tokyo, China Beijing, Russia Moscow, Egypt Cairo, Greece Athens, Austria Vienna, Poland Warsaw, Portugal Lisbon, Norway Oslo, Sweden Stockholm, Ireland Dublin, Cuba Havana, Kenya Nairobi, Peru Lima, Canada Ottawa, India Delhi, Turkey Ankara",
  },
  {
    patterns: [
      "What is the opposite of {x}?",
      "Opposite of {x}?",
      "What's the opposite of {x}?",
      "Tell me the opposite of {x}.",
      "Give the opposite of {x}.",
      "Name the opposite of {x}.",
      "The opposite of {x} is",
      "Which word is the opposite of {x}?",
      "{x} is the opposite of what?",
      "What word means the opposite of {x}?",
    ],
    pairs:
      "hot cold, cold hot, big small, small big, up down, down up, left right, right left, fast slow, slow fast, day night, night day, happy sad, sad happy, old new, new old, good bad, bad good, open closed, full empty, wet dry, dry wet, hard soft, soft hard, high low, low high, light dark, dark light, black white, white black, in out, loud quiet, rich poor, early late, love hate, war peace, first last, begin end",
  },
  {
    patterns: [
      "What color is {x}?",
      "What is the color of {x}?",
      "Which color is {x}?",
      "Tell me the color of {x}.",
      "The color of {x}?",
      "Name the color of {x}.",
      "What color does {x} have?",
      "{x} has which color?",
      "The color of {x} is",
    ],
    pairs:
      "the_sky blue, grass green, snow white, blood red, a_banana yellow, the_sun yellow, coal black, a_lemon yellow, milk white, a_tomato red, an_orange orange, a_frog green, the_sea blue, a_carrot orange, a_polar_bear white, a_leaf green, chocolate brown, a_crow black, a_strawberry red",
  },
  {
    patterns: [
      "What does {x} say?",
      "What sound does {x} make?",
      "Which sound does {x} make?",
      "How does {x} sound?",
      "Tell me what {x} says.",
      "What noise does {x} make?",
      "The sound of {x}?",
      "{x} says",
      "What do you hear from {x}?",
    ],
    pairs:
      "a_cat meow, a_dog woof, a_cow moo, a_duck quack, a_sheep baa, a_pig oink, a_lion roar, a_snake hiss, a_bee buzz, an_owl hoot, a_horse neigh, a_mouse squeak",
  },
  {
    patterns: [
      "How many legs does {x} have?",
      "Number of legs of {x}?",
      "How many legs has {x}?",
      "Count the legs of {x}.",
      "Tell me how many legs {x} has.",
      "{x} has how many legs?",
      "What is the number of legs of {x}?",
      "How many legs are on {x}?",
      "How many legs do you see on {x}?",
    ],
    pairs:
      "a_cat 4, a_dog 4, a_bird 2, a_spider 8, an_ant 6, a_cow 4, a_horse 4, a_snake 0, a_fish 0, a_bee 6, a_duck 2, a_person 2, a_lion 4, a_frog 4",
  },
  {
    patterns: [
      "What comes after {x}?",
      "What comes next after {x}?",
      "Which one follows {x}?",
      "What follows {x}?",
      "Name what comes after {x}.",
      "After {x} comes",
      "Tell me what comes after {x}.",
      "What is next after {x}?",
      "{x} is followed by what?",
    ],
    pairs:
      "Monday Tuesday, Tuesday Wednesday, Wednesday Thursday, Thursday Friday, Friday Saturday, Saturday Sunday, Sunday Monday, January February, February March, March April, April May, May June, June July, July August, August September, September October, October November, November December, December January, spring summer, summer autumn, autumn winter, winter spring",
  },
  {
    patterns: [
      "How many {x}?",
      "How many {x} are there?",
      "Tell me how many {x}.",
      "What is the number of {x}?",
      "Count the {x}.",
      "The number of {x}?",
      "Can you tell me how many {x}?",
      "Do you know how many {x} there are?",
      "Give me the number of {x}.",
    ],
    pairs:
      "days_in_a_week 7, months_in_a_year 12, hours_in_a_day 24, minutes_in_an_hour 60, seconds_in_a_minute 60, sides_of_a_triangle 3, sides_of_a_square 4, fingers_on_a_hand 5, letters_in_the_alphabet 26, wheels_on_a_car 4, wheels_on_a_bicycle 2, eggs_in_a_dozen 12, eyes_of_a_person 2, seasons_in_a_year 4",
  },
];

interface Fact {
  readonly subject: string;
  readonly answer: string;
  readonly patterns: readonly string[];
}

const facts: readonly Fact[] = topics.flatMap((topic) =>
  topic.pairs.split(", ").map((pair) => {
    const [subject = "", answer = ""] = pair.split(" ");
    return { subject: subject.replaceAll("_", " "), answer, patterns: topic.patterns };
  }),
);

/** Exercises whose answer is one word, the fact asked for. */
export const factual: Kind = {
  name: "facts",
  weight: 1,
  heldOut: null,
  draw: (random: Random): Exercise => {
    const fact = pick(random, facts);
    const prompt = fill(pick(random, fact.patterns), { x: fact.subject });
    return {
      kind: "facts",
      prompt: typedFreely(random, prompt),
      answer: fact.answer,
      accepts: (given) => given === fact.answer,
      contents: [],
    };
  },
};
