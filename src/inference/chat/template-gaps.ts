// Checks which features of a conversation a model's chat template can render. Renders an example of each feature when
// the model is loaded, so that the operator learns of a missing feature before a client does.
import { plainConversation, type Conversation } from "../../base/domain/chat.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { ChatTemplate } from "../chat-templates/chat-template.ts";

const user = { role: "user", content: "probe-question" };
const tool = {
  type: "function",
  function: {
    name: "probe_tool",
    description: "A probe.",
    parameters: {
      type: "object",
      properties: { probe_argument: { type: "string", description: "A probe." } },
    },
  },
};

interface Probe {
  readonly what: string;
  readonly conversation: Pick<Conversation, "messages" | "tools">;
  /** Text that the rendered prompt contains if the template shows the feature. */
  readonly shown: string;
}

const question: Probe = {
  what: "a user's message",
  conversation: { messages: [user], tools: null },
  shown: user.content,
};
const others: readonly Probe[] = [
  {
    what: "a system message",
    conversation: { messages: [{ role: "system", content: "probe-instructions" }, user], tools: null },
    shown: "probe-instructions",
  },
  { what: "tools", conversation: { messages: [user], tools: [tool] }, shown: tool.function.name },
];

/** A feature of conversations that the template does not show, described for operators. */
export interface TemplateGap {
  readonly what: string;
  /** True if the template refuses a conversation with the feature; false if it silently leaves the feature out. */
  readonly isRefused: boolean;
}

/**
 * Returns the features that the template refuses or leaves out. If the template refuses even a user message, returns
 * only that feature.
 */
export function findTemplateGaps(template: ChatTemplate): readonly TemplateGap[] {
  const first = faultOf(template, question);
  return first === null ? others.flatMap((probe) => faultOf(template, probe) ?? []) : [first];
}

function faultOf(template: ChatTemplate, { what, conversation, shown }: Probe): TemplateGap | null {
  try {
    const prompt = template.render({ ...plainConversation, ...conversation });
    return prompt.includes(shown) ? null : { what: `it does not show ${what}`, isRefused: false };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { what: `it cannot render ${what} (${error.message})`, isRefused: true };
  }
}
