// Exercises that ask for a small JSON object with one to three fields, whose names and values the prompt gives.
import type { Random } from "../../../../src/base/domain/random.ts";
import { type Exercise, fill, integer, type Kind, pick, pickSeveral, typed, wordsOf } from "./exercise.ts";
import { drawEverydayWord, drawName } from "./words.ts";

const textFields = [
  "name",
  "city",
  "color",
  "animal",
  "title",
  "word",
  "key",
  "type",
  "fruit",
  "friend",
] as const;
const numberFields = ["age", "count", "size", "id", "year", "price", "score", "level"] as const;

const patterns = [
  "Make a JSON object with {fields}.",
  "Write JSON with {fields}.",
  "JSON with {fields}",
  "Give me a JSON object with {fields}.",
  "Write a JSON object with {fields}.",
  "Return JSON with {fields}.",
  "Create JSON with {fields}.",
  "As JSON: {fields}",
  "To JSON: {fields}",
  "JSON: {fields}",
  "Turn this into JSON: {fields}",
  "I need JSON with {fields}.",
  "Output a JSON object with {fields}.",
  "Answer in JSON: {fields}",
] as const;

type Field = readonly [name: string, value: string | number];

function drawField(random: Random, name: string): Field {
  if ((numberFields as readonly string[]).includes(name)) return [name, integer(random, 0, 99)];
  return [name, name === "name" || name === "friend" ? drawName(random) : drawEverydayWord(random)];
}

/** Exercises whose answer is the object on one line, with the fields in the requested order. */
export const json: Kind = {
  name: "json",
  weight: 0.9,
  heldOut: "words",
  draw: (random): Exercise => {
    const fieldNames = pickSeveral(random, [...textFields, ...numberFields], integer(random, 1, 3));
    const fields = fieldNames.map((name) => drawField(random, name));
    const link = pick(random, [" ", " ", " = ", ": "]);
    const described = fields.map(([name, value]) => `${name}${link}${value}`);
    const separator = link === " " ? " and " : ", ";
    const answer = `{${fields.map(([name, value]) => `"${name}": ${JSON.stringify(value)}`).join(", ")}}`;
    return {
      kind: "json",
      prompt: fill(typed(random, pick(random, patterns)), { fields: described.join(separator) }),
      answer,
      accepts: (given) => given === answer,
      contents: wordsOf(fields.map(([, value]) => value).join(" ")),
    };
  },
};
