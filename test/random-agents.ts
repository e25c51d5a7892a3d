// Agents for four APIs, built on the vendors' SDKs. Each keeps its history in the form of its API, and sends it back
// exactly as the SDK returned it.
import Anthropic from "@anthropic-ai/sdk";
import type { MessageParam } from "@anthropic-ai/sdk/resources/messages";
import OpenAI from "openai";
import type { ResponseInput } from "openai/resources/responses/responses";
import type { Session } from "./rollout-sessions.ts";

/** How an agent sends one call. */
export interface Wish {
  readonly seed: number;
  readonly streams: boolean;
  /** `required` forces a tool call, `none` forbids one, and null sends no tools. */
  readonly tool: "required" | "none" | null;
}

/** An agent whose history has items of the type `Item`. */
export interface Agent<Item> {
  /** Returns the items that a user's message adds to the history. */
  says(text: string): readonly Item[];
  /**
   * Calls the model with the history; returns the items to add to it: the answer, and the results of its tool calls.
   */
  ask(history: readonly Item[], wish: Wish): Promise<readonly Item[]>;
}

const parameters = {
  type: "object" as const,
  properties: { city: { enum: ["Paris", "Rome"] } },
  required: ["city"],
  additionalProperties: false,
};
const weather = { name: "weather", parameters };
const result = "sunny";
const maxTokens = ({ tool }: Wish): number => (tool === "required" ? 400 : 16);
/** Fields that the SDKs' types do not declare. */
const seeded = ({ seed }: Wish): object => ({ seed });

const openaiOf = ({ base_url: baseURL, api_key: apiKey }: Session): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0 });

function chat(session: Session): Agent<OpenAI.ChatCompletionMessageParam> {
  const { completions } = openaiOf(session).chat;
  return {
    says: (content) => [{ role: "user", content }],
    ask: async (history, wish) => {
      const tools = [{ type: "function" as const, function: weather }];
      const body = {
        model: "gpt-5",
        messages: [...history],
        seed: wish.seed,
        max_tokens: maxTokens(wish),
        ...(wish.tool && { tools, tool_choice: wish.tool }),
      };
      const { choices } = wish.streams
        ? await completions.stream(body).finalChatCompletion()
        : await completions.create(body);
      const { content, tool_calls: calls } = choices[0].message;
      const called = (calls ?? []).map(({ id }) => ({
        role: "tool" as const,
        tool_call_id: id,
        content: result,
      }));
      return [
        { role: "assistant", content, ...(called.length > 0 && { tool_calls: calls ?? [] }) },
        ...called,
      ];
    },
  };
}

function completions(session: Session): Agent<number> {
  const openai = openaiOf(session);
  return {
    says: (text) => text.split("").map((letter) => 5 + (letter.charCodeAt(0) % 32)),
    ask: async (history, wish) => {
      const body = { model: "davinci", prompt: [...history], max_tokens: 16, return_token_ids: true };
      const asked = { ...body, seed: wish.seed };
      if (!wish.streams) return idsOf((await openai.completions.create(asked)).choices);
      const ids: number[] = [];
      for await (const { choices } of await openai.completions.create({ ...asked, stream: true }))
        ids.push(...idsOf(choices));
      return ids;
    },
  };
}

function idsOf(choices: readonly object[]): readonly number[] {
  return choices.flatMap((choice) => (choice as { token_ids?: readonly number[] | null }).token_ids ?? []);
}

function responses(session: Session): Agent<ResponseInput[number]> {
  const openai = openaiOf(session);
  return {
    says: (content) => [{ role: "user", content }],
    ask: async (history, wish) => {
      const tools = [{ type: "function" as const, strict: false, ...weather }];
      const body = {
        model: "gpt-5-codex",
        input: [...history],
        store: false,
        max_output_tokens: maxTokens(wish),
        ...(wish.tool && { tools, tool_choice: wish.tool }),
        ...seeded(wish),
      };
      const { output } = wish.streams
        ? await openai.responses.stream(body).finalResponse()
        : await openai.responses.create(body);
      const results = output.flatMap((item) =>
        item.type === "function_call"
          ? [{ type: "function_call_output" as const, call_id: item.call_id, output: result }]
          : [],
      );
      return [...(output as ResponseInput), ...results];
    },
  };
}

function messages({ anthropic_base_url: baseURL, api_key: authToken }: Session): Agent<MessageParam> {
  const anthropic = new Anthropic({ baseURL, authToken, apiKey: null, maxRetries: 0 });
  return {
    says: (content) => [{ role: "user", content }],
    ask: async (history, wish) => {
      const tools = [{ name: weather.name, input_schema: parameters }];
      const choice = { type: wish.tool === "required" ? ("any" as const) : ("none" as const) };
      const body = {
        model: "claude-opus-4-6",
        messages: [...history],
        max_tokens: maxTokens(wish),
        ...(wish.tool && { tools, tool_choice: choice }),
        ...seeded(wish),
      };
      const { content } = wish.streams
        ? await anthropic.messages.stream(body).finalMessage()
        : await anthropic.messages.create(body);
      const results = content.flatMap((block) =>
        block.type === "tool_use"
          ? [{ type: "tool_result" as const, tool_use_id: block.id, content: result }]
          : [],
      );
      const answer = { role: "assistant" as const, content };
      return results.length === 0 ? [answer] : [answer, { role: "user", content: results }];
    },
  };
}

/** For each API, a function that calls `use` with an agent of this API. */
export const apis: readonly ((session: Session, use: UseOfAgent) => Promise<void>)[] = [
  (session, use) => use(chat(session)),
  (session, use) => use(completions(session)),
  (session, use) => use(responses(session)),
  (session, use) => use(messages(session)),
];

type UseOfAgent = <Item>(agent: Agent<Item>) => Promise<void>;
