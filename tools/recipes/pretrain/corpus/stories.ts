// Exercises that ask for a story of three sentences about a person named in the prompt.
import type { Random } from "../../../../src/base/domain/random.ts";
import { chance, type Exercise, fill, type Kind, pick, typedFreely, wordsOf } from "./exercise.ts";
import { drawName } from "./words.ts";

const heroes =
  `cat dog bird fish frog mouse horse bear fox king robot boy girl duck lion owl goat cow hen pig bee ant crab deer wolf
  tiger mole rat snake sheep goose swan toad turtle rabbit monkey zebra camel spider snail whale seal otter elephant eagle
  prince queen witch giant baker sailor doctor farmer teacher pirate wizard knight dragon ghost elf child clown cook
  cloud tree star boat train lamp clock shoe stone flower kite pumpkin candle umbrella ball cup apple onion island`.split(
    /\s+/,
  );

const patterns = [
  "Tell a story about {who}.",
  "Tell me a story about {who}.",
  "Write a story about {who}.",
  "A story about {who}.",
  "A tiny story about {who}, please.",
  "Tell a tiny story about {who}.",
  "Write a short story about {who}.",
  "Tell me a short story about {who}.",
  "Make up a story about {who}.",
  "I want a story about {who}.",
  "Can you tell a story about {who}?",
  "Write a tiny story with {who}.",
  "Story about {who}",
  "Invent a story about {who}.",
] as const;

const beginnings = [
  "Once there was {a}.",
  "There was {a} in a small house.",
  "One day {the} went to the river.",
  "{The} lived near the sea.",
  "In the morning {the} woke up early.",
] as const;
const middles = [
  "{The} was hungry and looked for food.",
  "{The} found a red ball.",
  "{The} met a new friend.",
  "{The} saw a big tree.",
  "It was cold and {the} wanted to go home.",
  "{The} lost a shoe.",
  "A bird helped {the}.",
  "{The} sang a song.",
] as const;
const endings = [
  "In the end {the} was happy.",
  "Then {the} went to sleep.",
  "They were friends for ever.",
  "{The} smiled all day.",
  "That was a good day.",
] as const;

/** Exercises whose answer has three sentences, at least one of which names the person. */
export const stories: Kind = {
  name: "stories",
  weight: 0.6,
  heldOut: "heroes",
  draw: (random: Random): Exercise => {
    const isNamed = chance(random, 0.4);
    const hero = isNamed ? drawName(random) : pick(random, heroes);
    const a = isNamed ? hero : `${/^[aeiou]/.test(hero) ? "an" : "a"} ${hero}`;
    const the = isNamed ? hero : `the ${hero}`;
    const sentences = [pick(random, beginnings), pick(random, middles), pick(random, endings)];
    const answer = fill(sentences.join(" "), { a, the, The: isNamed ? hero : `The ${hero}` });
    return {
      kind: "stories",
      prompt: typedFreely(random, fill(pick(random, patterns), { who: a })),
      answer,
      contents: isNamed ? wordsOf(hero) : [`hero ${hero}`, ...wordsOf(hero)],
      accepts: (given) =>
        given.includes(hero) && /^[A-Z]/.test(given) && given.endsWith(".") && given.split(". ").length >= 3,
    };
  },
};
