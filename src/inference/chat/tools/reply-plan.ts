// Plans how the answer to a request is parsed and constrained. The plan combines thoughts, tool calls and the request's
// own constraint.
import { joinedText } from "../../../base/domain/content-part.ts";
import type { ChatRequest, ToolChoice } from "../../../base/domain/chat.ts";
import type { Constraint, ConstraintOptions, ConstraintRule } from "../../../base/domain/constraint.ts";
import type { Engine, EngineCapabilities } from "../../../base/domain/generation.ts";
import { thinkMarks, type ThoughtMarks, type ThoughtStart } from "../reply/read-thought.ts";
import type { ReplyForm, ReadCalls } from "../reply/reply-reader.ts";
import type { ServedBase } from "../served-base.ts";
import { functionOf, argumentsSchema } from "./arguments-schema.ts";
import { resolveToolChoice, toolsOf, allows, isStrict } from "./tool-use.ts";
import { unreachable } from "../../../base/domain/assert.ts";
import {
  exactJsonText,
  isExactList,
  isExactObject,
  parseExactJson,
  type ExactJson,
} from "../../../base/domain/text/exact-json.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { CallableTool } from "./call-format.ts";

export interface ReplyPlan {
  readonly form: ReplyForm;
  readonly constraint: Constraint | null;
  /** Finish reason of an answer that has calls. */
  readonly finishOfCalls: "tool_calls" | "stop";
}

/**
 * Plans how the answer to a request is read.
 *
 * @param promptTokenIds tokens of the rendered prompt; their end shows whether the prompt has opened a thought
 */
export function planReply(
  request: ChatRequest,
  base: Pick<ServedBase, "replies" | "tokenizer"> & { readonly engine: Pick<Engine, "capabilities"> },
  promptTokenIds: readonly number[],
): ReplyPlan {
  const choice = resolveToolChoice(request, base);
  const thought = thoughtStart(request, base, promptTokenIds);
  const { callFormat, thoughtMarks: marks } = base.replies;
  const functions = new Map(
    toolsOf(request).map((tool) => [functionOf(tool).name, functionOf(tool).parameters ?? null]),
  );
  const texts = new Set(request.calls.texts.map(({ name }) => name));
  // If the request names the function to call, the answer has exactly one call.
  const areParallel = request.calls.areParallel && choice.kind !== "named";
  const calls =
    callFormat === null || choice.kind === "none" ? null : { format: callFormat, functions, areParallel };
  // A format that covers whole answers is parsed even if the answer may not contain calls.
  const silent =
    callFormat?.inChannels === true ? { format: callFormat, functions: new Map(), areParallel } : null;
  const constraint = constrainedReply(request, choice, {
    thought,
    marks,
    calls,
    answer: callFormat?.answer ?? null,
    features: base.engine.capabilities.features,
  });
  const readCalls = calls ?? silent;
  return {
    form: { thought, marks, calls: readCalls && { ...readCalls, isConstrained: constraint !== null, texts } },
    constraint,
    // If the client named the function, the call was not the model's choice, so the reason is `stop`, as in vLLM.
    finishOfCalls: choice.kind === "named" ? "stop" : "tool_calls",
  };
}

/**
 * Number of tokens at the prompt's end within which Hone searches for the mark of an open thought. The mark and the
 * line breaks after it take far fewer.
 */
const lastTokenCount = 32;

function thoughtStart(
  { prompt }: ChatRequest,
  { replies, tokenizer }: Pick<ServedBase, "replies" | "tokenizer">,
  promptTokenIds: readonly number[],
): ThoughtStart {
  const hasThoughts = replies.thinks && replies.callFormat?.inChannels !== true;
  if (!hasThoughts || prompt.kind !== "conversation") return "none";
  const end = tokenizer.decode(promptTokenIds.slice(-lastTokenCount), { skipSpecialTokens: false }).trimEnd();
  const { begin: beginMark, end: endMark } = replies.thoughtMarks;
  if (end.endsWith(beginMark)) return "open";
  if (end.endsWith(endMark)) return "none";
  if (!prompt.continueFinalMessage) return prompt.addGenerationPrompt ? "possible" : "none";
  const begun = joinedText(prompt.messages.at(-1)?.content ?? null) ?? "";
  if (begun.trim() === "") return "possible";
  return begun.lastIndexOf(beginMark) > begun.lastIndexOf(endMark) ? "open" : "none";
}

// Combines the constraints on an answer into one: the request's own constraint, tool calls, or either of them, after a
// thought if the model may think. The result is a structural tag, a notation that the API accepts too.

/** Members of {@link ReadCalls} that a constraint needs. */
type WrittenCalls = Pick<ReadCalls, "format" | "areParallel">;

interface HeldCalls extends WrittenCalls {
  /** True if the engine can constrain tool calls, even for a request that has no constraint of its own. */
  readonly canConstrain: boolean;
  readonly asText: (format: ExactJson) => ExactJson;
}

/** Returns the constraint on the answer; null if the answer is unconstrained. */
export function constrainedReply(
  request: ChatRequest,
  choice: ToolChoice,
  {
    thought,
    marks = thinkMarks,
    calls,
    answer = null,
    features,
  }: {
    readonly thought: ThoughtStart;
    readonly marks?: ThoughtMarks;
    readonly calls: WrittenCalls | null;
    /** Wraps the format of an answer's text in the frame that the model writes around it; null if there is no frame. */
    readonly answer?: ((format: ExactJson) => ExactJson) | null;
    readonly features: EngineCapabilities["features"];
  },
): Constraint | null {
  const { constraint } = request;
  const canConstrain = features.has("constraint-structural-tag");
  const asText = answer ?? ((format: ExactJson): ExactJson => format);
  const withCalls =
    calls === null ? null : formatWithCalls(request, choice, { ...calls, canConstrain, asText });
  const isPlain = thought === "none" && answer === null;
  if (withCalls === null && (constraint === null || isPlain)) return constraint;
  const format = withCalls ?? (constraint === null ? null : asText(formatOf(constraint)));
  const isOwn = constraint !== null && !isForced(choice);
  const { allowsAnyWhitespace, whitespacePattern, allowsAdditionalProperties } = isOwn
    ? constraint
    : optionsOfCalls(features);
  return {
    kind: "structural-tag",
    tag: exactJsonText({ type: "structural_tag", format: afterThought(format, thought, marks) }),
    allowsAnyWhitespace,
    whitespacePattern,
    allowsAdditionalProperties,
  };
}

/**
 * Returns the options of a constraint that covers only calls. It allows at most one blank after a punctuation sign:
 * templates write no more, and more would waste tokens. An engine without support for whitespace patterns may still
 * sample more blanks.
 */
function optionsOfCalls(features: EngineCapabilities["features"]): ConstraintOptions {
  const whitespacePattern = features.has("constraint-whitespace-pattern") ? " ?" : null;
  return { allowsAnyWhitespace: true, whitespacePattern, allowsAdditionalProperties: true };
}

function isForced({ kind }: ToolChoice): boolean {
  return kind === "required" || kind === "named";
}

/**
 * Returns the format of an answer that must or may call tools. Returns null if calls are not constrained; the request's
 * own constraint then applies unchanged.
 */
function formatWithCalls(request: ChatRequest, choice: ToolChoice, calls: HeldCalls): ExactJson {
  const { format, areParallel, canConstrain, asText } = calls;
  const tools = toolsOf(request);
  const keepingSchema = (tool: JsonObject): CallableTool => callableTool(request, tool);
  const mayBeCalled = (tool: JsonObject): boolean => allows(choice, functionOf(tool).name);
  switch (choice.kind) {
    case "required":
    case "named":
      return format.calls(tools.filter(mayBeCalled).map(keepingSchema), areParallel);
    default: {
      const isKept = (tool: JsonObject): boolean => isStrict(tool) || ruleOf(request, tool) !== undefined;
      const allowed = tools.filter(mayBeCalled);
      const callable = allowed.map((tool) => (isKept(tool) ? keepingSchema(tool) : takingAny(tool)));
      if (request.constraint !== null) {
        if (!request.calls.areExempt) return null;
        const text = asText(formatOf(request.constraint));
        return { type: "or", elements: [format.calls(callable, areParallel), text] };
      }
      const isConstrained =
        (format.isTaught && canConstrain) || allowed.length < tools.length || allowed.some(isKept);
      return isConstrained ? format.textWithCalls(callable, areParallel) : null;
    }
  }
}

/**
 * Returns a tool of the request with the schema of its arguments. If the tool's input is text, also returns the rule
 * for that text.
 */
export function callableTool(request: ChatRequest, tool: JsonObject): CallableTool {
  const textRule = ruleOf(request, tool);
  const { name } = functionOf(tool);
  return { name, schema: argumentsSchema(tool), ...(textRule === undefined ? {} : { textRule }) };
}

function ruleOf({ calls }: ChatRequest, tool: JsonObject): ConstraintRule | undefined {
  const { name } = functionOf(tool);
  return calls.texts.find((text) => text.name === name)?.rule ?? undefined;
}

function takingAny(tool: JsonObject): CallableTool {
  return { name: functionOf(tool).name, schema: { type: "object" } };
}

/** Converts a request's constraint into a format that can be part of a structural tag. */
function formatOf(constraint: Constraint): ExactJson {
  switch (constraint.kind) {
    case "json-schema":
      return { type: "json_schema", json_schema: parseExactJson(constraint.schema) };
    case "json-object":
      return { type: "json_schema", json_schema: { type: "object" } };
    case "regex":
      return { type: "regex", pattern: constraint.pattern };
    case "choice":
      return { type: "or", elements: constraint.choices.map((value) => ({ type: "const_string", value })) };
    case "grammar":
      return { type: "grammar", grammar: constraint.text };
    case "structural-tag":
      return formatOfTag(parseExactJson(constraint.tag));
    default:
      return unreachable(constraint);
  }
}

/**
 * Converts a structural tag in the older form to free text with triggers. Any other tag stays unchanged; an invalid one
 * is refused later.
 */
function formatOfTag(tag: ExactJson): ExactJson {
  if (!isExactObject(tag)) return tag;
  const { format, structures, triggers } = tag;
  if (format !== undefined) return format;
  if (structures === undefined || !isExactList(structures)) return tag;
  const tags = structures.map((structure) => {
    if (!isExactObject(structure)) return structure;
    const { begin, schema, end } = structure;
    return {
      begin: begin ?? null,
      content: { type: "json_schema", json_schema: schema ?? null },
      end: end ?? null,
    };
  });
  return { type: "triggered_tags", triggers: triggers ?? null, tags };
}

/** Returns a format that requires or allows a thought, and optional line breaks, before the given format. */
function afterThought(format: ExactJson, start: ThoughtStart, marks: ThoughtMarks): ExactJson {
  if (start === "none") return format;
  const thought = {
    type: "tag",
    begin: start === "open" ? "" : marks.begin,
    content: { type: "any_text" },
    end: marks.end,
  };
  const whole = { type: "sequence", elements: [thought, { type: "regex", pattern: "\\n{0,2}" }] };
  return {
    type: "sequence",
    elements: [start === "open" ? whole : { type: "optional", content: whole }, format],
  };
}
