// The server's address and the data that several client tests share. This module uses no client.
import assert from "node:assert/strict";
import { z } from "zod";

export const setting = {
  baseURL: required("BASE_URL"),
  apiKey: required("API_KEY"),
  model: required("MODEL"),
};

function required(name) {
  const value = process.env[name];
  assert.ok(value, `${name} says what the clients talk to; run.js sets it`);
  return value;
}

/**
 * Maximum length of an answer. Answers are short, because the model's weights are random and the tests check only
 * properties that a constraint enforces.
 */
export const maxTokens = 24;

export const order = z.object({
  color: z.enum(["red", "green", "blue"]),
  size: z.number().int().min(1).max(9),
  gift: z.boolean(),
});

/** Schema of a tool's arguments. */
export const place = z.object({ city: z.enum(["Oslo", "Lima"]), days: z.number().int().min(1).max(9) });

/** Returns the tool's result. */
export function weatherIn({ city, days }) {
  return `${city}: sun for ${days} days`;
}
