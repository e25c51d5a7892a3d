// Flags that select feedback records: short flags for common filters, and --query for any expression of the query
// language.
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { FeedbackQueryReq } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

export interface SelectionFlags {
  readonly type?: string;
  readonly on?: string;
  readonly since?: string;
  readonly until?: string;
  readonly query?: string;
}

type Expression = Readonly<Record<string, unknown>>;

export function addSelectionFlags(command: Command): Command {
  return command
    .option("--type <type>", "only this feedback type")
    .option(
      "--on <reference>",
      "only feedback on one thing, given by its reference, such as `hone:///acme/games/call/1f2e`, or by the request id of a chat completion",
    )
    .option("--since <time>", "only feedback created at this time or later (ISO 8601)")
    .option("--until <time>", "only feedback created before this time")
    .option(
      "--query <json>",
      'only feedback that matches this expression, such as {"$gt": [{"$getField": "payload.stars"}, {"$literal": 3}]}; @file reads a file',
    );
}

/** Combines the flags into one query; undefined if they select all records. */
export function queryOf(projectId: string, flags: SelectionFlags): FeedbackQueryReq["query"] {
  const { type, on, since, until, query } = flags;
  const conditions: readonly Expression[] = [
    ...(type === undefined ? [] : [compare("$eq", "feedback_type", type)]),
    ...(on === undefined ? [] : [compare("$eq", "vendor_ref", referenceOf(projectId, on))]),
    ...(since === undefined ? [] : [compare("$gte", "created_at", since)]),
    ...(until === undefined ? [] : [compare("$lt", "created_at", until)]),
    ...(query === undefined ? [] : [readExpression(query)]),
  ];
  const [first, ...further] = conditions;
  if (first === undefined) return undefined;
  return { $expr: further.length === 0 ? first : { $and: conditions } };
}

/** Returns a reference unchanged; converts a chat completion's request id to a reference. */
export function referenceOf(projectId: string, text: string): string {
  if (text.includes("://")) return text;
  const id = text.replace(/^chatcmpl-/, "");
  return `hone:///${projectId}/call/${encodeURIComponent(id)}`;
}

/** Returns `<entity>/<project>`; a project without an entity belongs to the key's entity. */
export async function projectIdOf(client: Hone, project: string): Promise<string> {
  return project.includes("/") ? project : `${(await client.server.key()).entity}/${project}`;
}

/** Parses a flag's value: either JSON, or `@` and the name of a file that contains JSON. */
export function readJson(flag: string, text: string): unknown {
  const json = text.startsWith("@") ? readFileSync(text.slice(1), "utf8") : text;
  try {
    return JSON.parse(json);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ServiceError({ code: "invalid", message: `${flag} is not JSON: ${why}.`, cause });
  }
}

export function isObject(value: unknown): value is Expression {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readExpression(text: string): Expression {
  const value = readJson("--query", text);
  if (!isObject(value))
    throw new ServiceError({
      code: "invalid",
      message:
        '--query must be an operation, such as {"$eq": [{"$getField": "creator"}, {"$literal": "Ann"}]}.',
    });
  // Both forms are accepted: an expression, and an expression within `$expr`.
  return isObject(value["$expr"]) ? value["$expr"] : value;
}

function compare(operator: string, field: string, literal: string): Expression {
  return { [operator]: [{ $getField: field }, { $literal: literal }] };
}
