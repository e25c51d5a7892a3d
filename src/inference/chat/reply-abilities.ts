// Abilities of a model's replies besides text: thoughts and tool calls. Hone detects them from the model's chat
// template, unless the operator has set them.
import type { BaseModel } from "../../base/domain/model.ts";
import { invalid } from "../../base/domain/service-error.ts";
import type { ChatTemplate } from "../chat-templates/chat-template.ts";
import type { Tokenizer } from "../../lib/tokenizer/tokenizer.ts";
import { knownMarks, thinkMarks, type ThoughtMarks } from "./reply/read-thought.ts";
import type { ChatSettings } from "./settings.ts";
import type { CallFormat } from "./tools/call-format.ts";
import { callFormats, detectCallFormat } from "./tools/call-formats.ts";

/** Abilities that can be determined without the model's tokenizer. */
export type TemplateReplies = Omit<ReplyAbilities, "markIds">;

export interface ReplyAbilities {
  /** Format in which the model writes tool calls; null if tool calls are not parsed. */
  readonly callFormat: CallFormat | null;
  /** True if the model may think before it answers. */
  readonly thinks: boolean;
  /** Marks of the model's thoughts, if it thinks. */
  readonly thoughtMarks: ThoughtMarks;
  /**
   * Ids of special tokens that mark calls and thoughts. These tokens stay in the answer's text, because parsers and
   * constraints rely on them.
   */
  readonly markIds: ReadonlySet<number>;
  /** Reasons for choosing the formats of calls and of thoughts, as texts for operators. */
  readonly reasons: { readonly calls: string; readonly thoughts: string };
}

/**
 * Returns the abilities that the operator has set, or else those that the template shows.
 *
 * @param model the base model, with its defaults for omitted settings
 * @param described call formats defined by the operator
 * @throws ServiceError `invalid` for a setting that names no format
 */
export function readReplyAbilities(
  model: Pick<BaseModel, "name" | "toolCalls">,
  template: ChatTemplate,
  settings: Pick<ChatSettings, "toolCalls" | "reasoning">,
  described: readonly CallFormat[] = [],
): TemplateReplies {
  const { format: callFormat, reason: calls } = callFormatOf(model, template, settings, described);
  const { thinks, thoughtMarks, reason: thoughts } = thinksOf(model.name, template, settings);
  return { callFormat, thinks, thoughtMarks, reasons: { calls, thoughts } };
}

/** Adds the ids of the tokens that mark calls and thoughts in answers. */
export function withMarkIds(replies: TemplateReplies, tokenizer: Tokenizer): ReplyAbilities {
  const { callFormat, thinks, thoughtMarks } = replies;
  const marks = [...(callFormat?.marks ?? []), ...(thinks ? [thoughtMarks.begin, thoughtMarks.end] : [])];
  if (marks.length === 0) return { ...replies, markIds: new Set() };
  const ids = Array.from({ length: tokenizer.vocabularySize }, (_, id) => id);
  const markIds = new Set(
    ids.filter((id) => tokenizer.isSpecial(id) && isWithin(tokenizer.tokenText(id), marks)),
  );
  return { ...replies, markIds };
}

function isWithin(token: string, marks: readonly string[]): boolean {
  return token !== "" && marks.some((mark) => mark.includes(token));
}

function callFormatOf(
  model: Pick<BaseModel, "name" | "toolCalls">,
  template: ChatTemplate,
  { toolCalls }: Pick<ChatSettings, "toolCalls">,
  described: readonly CallFormat[],
): { readonly format: CallFormat | null; readonly reason: string } {
  const formats = [...described, ...Object.values(callFormats)];
  const values = ["auto", "off", ...formats.map(({ name }) => name)];
  const given = settingOf("chat.toolCalls", toolCalls, model.name, values);
  const value = given ?? model.toolCalls ?? "auto";
  if (value === "auto") {
    const format = detectCallFormat(
      template,
      formats.filter(({ isTaught }) => !isTaught),
    );
    const reason =
      format === null
        ? "its chat template writes no calls, or none in a known format"
        : "its chat template writes calls in this format";
    return { format, reason };
  }
  const format = formats.find(({ name }) => name === value) ?? null;
  if (given === null) return { format, reason: "by default for this model; chat.toolCalls changes it" };
  const shown = format?.isTaught === true ? ", and tools are shown in the system message" : "";
  return { format, reason: `set by chat.toolCalls${shown}` };
}

function thinksOf(
  name: string,
  template: ChatTemplate,
  { reasoning }: Pick<ChatSettings, "reasoning">,
): Pick<ReplyAbilities, "thinks" | "thoughtMarks"> & { readonly reason: string } {
  const value = settingOf("chat.reasoning", reasoning, name, ["auto", "off", "on"]) ?? "auto";
  const mentioned = knownMarks.find(({ end }) => template.mentions(end));
  const thoughtMarks = mentioned ?? thinkMarks;
  if (value !== "auto") return { thinks: value === "on", thoughtMarks, reason: "set by chat.reasoning" };
  const verb = mentioned === undefined ? "does not mention" : "mentions";
  const reason = `its chat template ${verb} ${thoughtMarks.end}`;
  return { thinks: mentioned !== undefined, thoughtMarks, reason };
}

/**
 * Refuses settings for unknown models.
 *
 * @throws ServiceError `invalid` for a setting of a model that is not in `names`
 */
export function refuseUnknownModels(
  names: readonly string[],
  { toolCalls, reasoning }: Pick<ChatSettings, "toolCalls" | "reasoning">,
): void {
  const settings = { "chat.toolCalls": toolCalls, "chat.reasoning": reasoning };
  for (const [setting, items] of Object.entries(settings)) {
    const strange = items.map(split).find(({ model }) => !names.includes(model));
    if (strange === undefined) continue;
    throw invalid(
      `${setting} has ${JSON.stringify(strange.item)}, but the base models are ${names.join(", ")}.`,
    );
  }
}

function split(item: string): { readonly item: string; readonly model: string; readonly value: string } {
  const at = item.lastIndexOf("=");
  return { item, model: item.slice(0, Math.max(0, at)), value: item.slice(at + 1) };
}

/**
 * Returns the value for a model from a setting that lists `model=value`; null if the list has no entry for the model.
 */
function settingOf(
  setting: string,
  items: readonly string[],
  name: string,
  values: readonly string[],
): string | null {
  const given = items.map(split);
  const wrong = given.find(({ model, value }) => model === "" || !values.includes(value));
  if (wrong !== undefined) {
    throw invalid(
      `${setting} has ${JSON.stringify(wrong.item)}; it must be model=value with a value of ${values.join(", ")}.`,
    );
  }
  return given.findLast(({ model }) => model === name)?.value ?? null;
}
