// Parses the messages of an OpenEnv server, and creates the errors that a session throws. Pure.
import { HoneError } from "../hone-error.ts";
import type { JsonObject } from "../recording/trajectory-fetch.ts";

/** The environment's answer to `reset` or `step`. */
export interface EnvironmentStep<Observation = JsonObject> {
  readonly observation: Observation;
  /** Reward of this step; null if the environment gives none. */
  readonly reward: number | null;
  /** True if the episode has ended. */
  readonly done: boolean;
  readonly metadata: JsonObject;
}

/** A message of the server: its type, and its data. */
export interface EnvironmentMessage {
  readonly type: string;
  readonly data: JsonObject;
}

/**
 * Parses a message.
 *
 * @throws HoneError `malformed`
 */
export function messageOf(text: unknown, lengthMax: number): EnvironmentMessage {
  const { type, data } = objectOf(text, lengthMax);
  if (typeof type === "string" && isObject(data)) return { type, data };
  throw malformed("has no type or no data", text);
}

/**
 * Parses a JSON object.
 *
 * @throws HoneError `malformed`
 */
export function objectOf(text: unknown, lengthMax: number): JsonObject {
  if (typeof text !== "string") throw malformed("is not text", "");
  if (text.length > lengthMax)
    throw malformed(`has ${text.length} characters; the option messageLengthMax is ${lengthMax}`, "");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed("is not JSON", text);
  }
  if (isObject(value)) return value;
  throw malformed("is not a JSON object", text);
}

/**
 * Returns the result of a step. A reward of true counts as 1.
 *
 * @throws HoneError `malformed`
 */
export function stepOf<Observation>(data: JsonObject): EnvironmentStep<Observation> {
  const { observation, reward = null, done = false, metadata } = data;
  const given = typeof reward === "boolean" ? Number(reward) : reward;
  const isReward = given === null || typeof given === "number";
  if (!isObject(observation) || !isReward || typeof done !== "boolean")
    throw malformed(
      "has no observation, or a reward that is no number, or `done` is not true or false",
      data,
    );
  // Safe cast: the caller names the type of the environment's observations.
  const seen = observation as Observation;
  return { observation: seen, reward: given, done, metadata: isObject(metadata) ? metadata : {} };
}

/** Converts an error message to the error to throw. The error has OpenEnv's code in lower case. */
export function refusalOf(data: JsonObject): HoneError {
  const { message, code, errors } = data;
  const faults = (Array.isArray(errors) ? errors : []).filter(isObject).map(({ loc, msg, type }) => ({
    loc: Array.isArray(loc) ? loc.map(String) : [],
    msg: String(msg),
    type: String(type),
  }));
  const details = faults.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
  const known = typeof code === "string" ? code.toLowerCase() : "environment";
  const parts = [
    `The environment reports ${known}: ${String(message)}`,
    details === "" ? "" : `(${details})`,
  ];
  const text = [...parts, cures[known] ?? ""].filter((part) => part !== "").join(" ");
  return new HoneError({ code: known, message: text.slice(0, messageLengthMax), faults, body: data });
}

const cures: Readonly<Record<string, string>> = {
  capacity_reached:
    "Lower the option concurrency of train, or raise max_concurrent_envs of the environment's server.",
};
const messageLengthMax = 2000;

export function overdue(what: string, timeoutMs: number): HoneError {
  return new HoneError({ code: "timeout", message: `${what} gave no answer within ${timeoutMs} ms.` });
}

export function invalidOption(param: string, message: string): HoneError {
  return new HoneError({ code: "invalid", param, message });
}

function malformed(fault: string, value: unknown): HoneError {
  const shown = (typeof value === "string" ? value : JSON.stringify(value)).slice(0, 200);
  const end = shown === "" ? "." : `: ${shown}`;
  return new HoneError({ code: "malformed", message: `The answer of the environment ${fault}${end}` });
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
