// Derives Ollama's template (in Go's syntax) from a model's chat template: renders conversations with known messages,
// and uses the text around these messages. Covers system, user and assistant messages, but not tools.
import type { ChatTemplate } from "../../chat-templates/chat-template.ts";
import { plainConversation } from "../../../base/domain/chat.ts";
import type { MessageRecord } from "../../../base/domain/trajectory.ts";

/** Texts of probing messages. No template contains them. */
const texts = {
  system: "qvsystemvq",
  user: "qvuservq",
  assistant: "qvanswervq",
  later: "qvlatervq",
} as const;

const system = { role: "system", content: texts.system } as const;
const user = { role: "user", content: texts.user } as const;
const assistant = { role: "assistant", content: texts.assistant } as const;
const later = { role: "user", content: texts.later } as const;

/** Texts around the messages of each role. */
interface Turns {
  /** Text before the first message: `begin` if there is no system message, else `beforeSystem`. */
  readonly begin: string;
  readonly beforeSystem: string;
  readonly afterSystem: string;
  readonly beforeUser: string;
  readonly afterUser: string;
  readonly beforeAnswer: string;
  readonly afterAnswer: string;
  /** Text after the last message, which makes the model begin an answer. */
  readonly prompt: string;
}

/**
 * Returns the template; null if the model's prompts do not consist of the messages with fixed text around each.
 *
 * @param beginToken text of the token that the tokenizer itself adds before each text; null if it adds none
 */
export function ollamaTemplate(template: ChatTemplate, beginToken: string | null): string | null {
  const render = (...messages: readonly MessageRecord[]): string | null =>
    renderedText(template, messages, beginToken);
  const turns = turnsOf(render);
  if (turns === null || render(system, user, assistant, later) !== joined(turns)) return null;
  const written = goTemplate(turns);
  return written.includes('"""') ? null : written;
}

function renderedText(
  template: ChatTemplate,
  messages: readonly MessageRecord[],
  beginToken: string | null,
): string | null {
  try {
    const text = template.render({ ...plainConversation, messages });
    return beginToken !== null && text.startsWith(beginToken) ? text.slice(beginToken.length) : text;
  } catch {
    // The template refuses this conversation. The model is then exported without a template.
    return null;
  }
}

function turnsOf(render: (...messages: readonly MessageRecord[]) => string | null): Turns | null {
  const long = cut(render(user, assistant, later), [texts.user, texts.assistant, texts.later]);
  const short = cut(render(system, user), [texts.system, texts.user]);
  if (long === null || short === null) return null;
  const [first, second, third, end] = long;
  const [beforeSystem, betweenSystem, shortEnd] = short;
  if (shortEnd !== end) return null;
  const beforeUser = commonSuffix([first, third, betweenSystem]);
  const afterUser = commonPrefix([second, end]);
  return {
    begin: first.slice(0, first.length - beforeUser.length),
    beforeSystem,
    afterSystem: betweenSystem.slice(0, betweenSystem.length - beforeUser.length),
    beforeUser,
    afterUser,
    beforeAnswer: second.slice(afterUser.length),
    afterAnswer: third.slice(0, third.length - beforeUser.length),
    prompt: end.slice(afterUser.length),
  };
}

/** Returns the texts before, between and after `parts`; null unless each part occurs exactly once, in this order. */
function cut(text: string | null, parts: readonly string[]): readonly string[] | null {
  if (text === null) return null;
  const pieces: string[] = [];
  let rest = text;
  for (const part of parts) {
    const [before, after, ...more] = rest.split(part);
    if (after === undefined || more.length > 0) return null;
    pieces.push(before);
    rest = after;
  }
  return [...pieces, rest];
}

function commonPrefix(all: readonly string[]): string {
  const [first] = all;
  let length = 0;
  while (length < first.length && all.every((text) => text[length] === first[length])) length++;
  return first.slice(0, length);
}

function commonSuffix(all: readonly string[]): string {
  const [first] = all;
  let length = 0;
  while (length < first.length && all.every((text) => text.at(-1 - length) === first.at(-1 - length)))
    length++;
  return first.slice(first.length - length);
}

/** Returns the rendered text of the longest probing conversation. */
function joined(turns: Turns): string {
  const { beforeUser, afterUser } = turns;
  return [
    `${turns.beforeSystem}${texts.system}${turns.afterSystem}`,
    `${beforeUser}${texts.user}${afterUser}`,
    `${turns.beforeAnswer}${texts.assistant}${turns.afterAnswer}`,
    `${beforeUser}${texts.later}${afterUser}${turns.prompt}`,
  ].join("");
}

/**
 * Writes the turns in Go's syntax. If the last message is an answer, the text after answers is omitted, so that the
 * model continues the answer.
 */
function goTemplate(turns: Turns): string {
  const text = (value: string): string => value.replaceAll("{{", '{{ "{{" }}');
  return [
    `{{ if .System }}${text(turns.beforeSystem)}{{ .System }}${text(turns.afterSystem)}`,
    `{{ else }}${text(turns.begin)}{{ end }}`,
    `{{ range $i, $_ := .Messages }}{{ $last := eq (len (slice $.Messages $i)) 1 }}`,
    `{{ if eq .Role "user" }}${text(turns.beforeUser)}{{ .Content }}${text(turns.afterUser)}`,
    `{{ else if eq .Role "assistant" }}${text(turns.beforeAnswer)}{{ .Content }}`,
    `{{ if not $last }}${text(turns.afterAnswer)}{{ end }}{{ end }}`,
    `{{ if and $last (ne .Role "assistant") }}${text(turns.prompt)}{{ end }}{{ end }}`,
  ].join("");
}
