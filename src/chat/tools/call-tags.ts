// Calls as formats of structural tags, which constrain an answer: what several formats of calls write alike.
import type { Json } from "../../domain/trajectory.ts";
import type { CallableTool } from "./call-format.ts";

/** The arguments, which keep their schema. */
export function argumentsOf({ schema }: CallableTool): Json {
  return { type: "json_schema", json_schema: schema };
}

/** Makes the tag of a call that is a JSON object, with texts before and after it. */
export function objectTag({
  before = "",
  member,
  more,
  after = "",
}: {
  readonly before?: string;
  readonly member: string;
  /** A pattern for what may follow the arguments within the object. */
  readonly more?: string;
  readonly after?: string;
}): (tool: CallableTool) => Json {
  return (tool) => ({
    type: "tag",
    begin: `${before}{"name": ${JSON.stringify(tool.name)}, "${member}": `,
    content: more === undefined ? argumentsOf(tool) : sequence(argumentsOf(tool), pattern(`(?:${more})?`)),
    end: `}${after}`,
  });
}

export function sequence(...elements: readonly Json[]): Json {
  return { type: "sequence", elements };
}

export function pattern(text: string): Json {
  return { type: "regex", pattern: text };
}

/** At least one of the tags and nothing else. */
export function onlyCalls({
  tags,
  separator,
  areParallel,
}: {
  readonly tags: readonly Json[];
  readonly separator: string;
  readonly areParallel: boolean;
}): Json {
  return {
    type: "tags_with_separator",
    tags,
    separator,
    at_least_one: true,
    stop_after_first: !areParallel,
  };
}

/** Text in which the trigger begins one of the tags. */
export function triggeredCalls({
  tags,
  trigger,
  areParallel,
}: {
  readonly tags: readonly Json[];
  readonly trigger: string;
  readonly areParallel: boolean;
}): Json {
  return { type: "triggered_tags", triggers: [trigger], tags, stop_after_first: !areParallel };
}
