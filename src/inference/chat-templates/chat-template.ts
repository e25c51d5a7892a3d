// Renders a conversation into the text of a prompt. Follows Hugging Face's apply_chat_template: same variables, and
// same way to continue a final message. Does not tokenize.
import { chatFault, type Conversation } from "../../base/domain/chat.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { joinedText, textOfPart } from "../../base/domain/content-part.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import { fromJson } from "../../lib/jinja/json-text.ts";
import type { Value } from "../../lib/jinja/values/value.ts";
import { detectContentFormat, type ContentFormat } from "./content-format.ts";
import { compileJinja, TemplateFailure } from "./jinja-program.ts";
import type { JinjaProgram, ProgramLimits } from "./jinja-program.ts";
import { hasLaterSystem, toTemplateMessages } from "./template-messages.ts";

export interface ChatTemplate {
  /**
   * Renders a conversation. If the template refuses system messages after the first, all system messages are joined
   * into the first.
   *
   * @throws ServiceError `unsupported` if the template raises an exception (with its message) or fails, if content is
   * not text, or if the rendered text lacks the final message that the answer continues. Throws the error of `limits`
   * if a limit is reached
   */
  render(conversation: Conversation, limits?: ProgramLimits): string;
  /** Returns true if the text occurs in the template's source, or in that of its variant for tools. */
  mentions(text: string): boolean;
  /**
   * Returns a chat template with another source and this model's variables. Faults of the template are then reported as
   * faults of the request that brought the source. Throws ServiceError `unsupported` when the syntax of the source is
   * wrong.
   */
  withSource(source: string): ChatTemplate;
}

export interface ChatTemplateOptions {
  /** Source of the template; null when the model has none, in which case `render` refuses. */
  readonly source: string | null;
  /** Source used instead of `source` when tools are given; null when the model has no such variant. */
  readonly toolUseSource: string | null;
  /** Template variables such as `bos_token`. */
  readonly specialTokens: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** True if the request brought the template: failures are then reported as faults of the request's template field. */
  readonly isRequests?: boolean;
}

/** Compiles a model's templates. Throws ServiceError `unsupported` when their syntax is wrong. */
export function createChatTemplate(options: ChatTemplateOptions): ChatTemplate {
  const { source, toolUseSource } = options;
  const standard = source === null ? { ...noTemplate, render: refuseToRender } : compile(source, options);
  const toolUse = toolUseSource === null ? standard : compile(toolUseSource, options);
  return {
    mentions: (text) => [source, toolUseSource].some((one) => one?.includes(text) === true),
    withSource: (other) =>
      createChatTemplate({ ...options, source: other, toolUseSource: null, isRequests: true }),
    render: (conversation, limits) => {
      const compiled = conversation.tools === null ? standard : toolUse;
      return conversation.continueFinalMessage
        ? renderContinued(conversation, compiled, limits)
        : compiled.render(conversation, limits);
    },
  };
}

interface Compiled {
  readonly format: ContentFormat;
  /** True if the word `content` occurs in the template. */
  readonly namesContent: boolean;
  readonly render: (conversation: Conversation, limits?: ProgramLimits) => string;
}

const noTemplate = { format: "string", namesContent: true } as const;

function refuseToRender(): never {
  const message = "This model has no chat template of its own; send one as `prompt.template`.";
  const faults = [chatFault("prompt.template", { message, type: "missing" })];
  throw new ServiceError({ code: "unsupported", faults });
}

function compile(
  source: string,
  { specialTokens, clock, isRequests = false }: ChatTemplateOptions,
): Compiled {
  const program: JinjaProgram = compileJinja(source, clock);
  const reading = { format: detectContentFormat(program.body), knowsDeveloper: knowsDeveloper(source) };
  const renderWith = (
    conversation: Conversation,
    limits: ProgramLimits | undefined,
    joins: boolean,
  ): string => {
    const variables = {
      ...specialTokens,
      tools: fromJson(conversation.tools),
      documents: fromJson(conversation.documents),
      add_generation_prompt: conversation.addGenerationPrompt,
      ...effortVariables(conversation),
      ...valuesOf(conversation.templateArguments),
      messages: toTemplateMessages(conversation, { ...reading, joinsSystem: joins }),
    };
    return program.run(variables, limits);
  };
  const render: Compiled["render"] = (conversation, limits) => {
    try {
      return renderWith(conversation, limits, false);
    } catch (cause) {
      if (!(cause instanceof TemplateFailure)) throw cause;
      if (!hasLaterSystem(conversation)) throw locatedFailure(cause, conversation, isRequests);
    }
    try {
      return renderWith(conversation, limits, true);
    } catch (cause) {
      throw cause instanceof TemplateFailure ? locatedFailure(cause, conversation, isRequests) : cause;
    }
  };
  return { format: reading.format, namesContent: source.includes("content"), render };
}

/**
 * Returns a template's failure as a fault of the field `messages`, or of the template field if the request brought the
 * template.
 */
function locatedFailure(
  cause: TemplateFailure,
  conversation: Conversation,
  isRequests: boolean,
): ServiceError {
  const message = joinsArguments(cause, conversation)
    ? `${cause.message}. It gets the arguments of calls as objects.`
    : cause.message;
  const field = isRequests ? "prompt.template" : "prompt.messages";
  const faults = [chatFault(field, { message, type: "value_error" })];
  return new ServiceError({ code: "unsupported", faults, cause });
}

/**
 * True if a template failed because it concatenated a dict with a text, in a conversation with tool calls. Such a
 * template most likely expects the calls' arguments as text.
 */
function joinsArguments(cause: TemplateFailure, { messages }: Conversation): boolean {
  const hasCalls = messages.some(({ tool_calls: calls }) => Array.isArray(calls) && calls.length > 0);
  return hasCalls && cause.message.endsWith('(not "dict") to str');
}

/**
 * True if a template compares a role with `developer`. Only the quoted word counts, because some templates use the word
 * in instructions.
 */
function knowsDeveloper(source: string): boolean {
  return source.includes('"developer"') || source.includes("'developer'");
}

function valuesOf(members: JsonObject): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, fromJson(value)]));
}

/**
 * Returns the template variables that vLLM sets for the reasoning effort: the effort's name, and whether the model
 * should think at all.
 */
function effortVariables({ reasoningEffort }: Conversation): Readonly<Record<string, Value>> {
  if (reasoningEffort === null) return {};
  return { reasoning_effort: reasoningEffort, enable_thinking: reasoningEffort !== "none" };
}

/**
 * Text that marks the end of the final message's content in the rendered text. The blank at its end shows whether the
 * template trims the content.
 */
const endMark = "CONTINUE_FINAL_MESSAGE_TAG ";

function renderContinued(
  conversation: Conversation,
  { format, namesContent, render }: Compiled,
  limits?: ProgramLimits,
): string {
  const final = conversation.messages.at(-1);
  if (final === undefined) throw notContinued("there is no message");
  if (!namesContent) throw notContinued("the chat template does not show it");
  const { content = null } = final;
  const parts = Array.isArray(content) ? content : content === null ? [] : [content];
  if (format === "parts" && parts.length === 0) throw notContinued("it has no text");
  const last = textOfPart(parts.at(-1) ?? "");
  if (last === null) throw notContinued("its last part is not text");
  const marked = { ...final, content: [...parts.slice(0, -1), { type: "text", text: last + endMark }] };
  const rendered = render(
    { ...conversation, messages: [...conversation.messages.slice(0, -1), marked] },
    limits,
  );
  // If a template expects content as text, all parts of the content were joined into one text.
  const text = format === "string" ? (joinedText(parts) ?? last) : last;
  const end = rendered.lastIndexOf(endMark.trimEnd());
  if (end < 0) throw notContinued("the chat template does not show it");
  const keepsBlanks = rendered.startsWith(endMark, end);
  const prompt = keepsBlanks ? rendered.slice(0, end) : rendered.slice(0, end).trimEnd();
  if (!prompt.trimEnd().endsWith(text.trim())) throw notContinued("the chat template alters it");
  return prompt;
}

function notContinued(reason: string): ServiceError {
  const message = `\`prompt.continueFinalMessage\` is set, but the final message cannot be continued: ${reason}.`;
  return new ServiceError({
    code: "unsupported",
    faults: [chatFault("prompt.continueFinalMessage", { message, type: "value_error" })],
  });
}
