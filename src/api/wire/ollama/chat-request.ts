// Fields of a chat request in Ollama's API.
import { Type } from "typebox";
import { eachObject } from "../../../base/validation/findings.ts";
import type { Fault } from "../../../base/domain/service-error.ts";
import type { BodyForm } from "../body.ts";
import { toolSchema } from "../chat/fields/conversation-fields.ts";
import { anyObject, named } from "../fields/any-object.ts";
import { field, schemaOf, type ValuesOf } from "../fields/field.ts";
import { nullable } from "../nullable.ts";
import { checkFormat, commonFields } from "./common-fields.ts";
import { unservedOptions } from "./options.ts";

const toolCall = Type.Object(
  {
    id: nullable(Type.String(), { description: "Id of the call." }),
    function: Type.Object(
      {
        name: Type.String({ description: "Name of the called function." }),
        arguments: nullable(anyObject, { description: "Arguments of the call." }),
        index: nullable(Type.Integer(), { description: "Accepted, but has no effect." }),
      },
      { ...named, title: "OllamaCalledFunction", description: "Name and arguments of the call." },
    ),
  },
  { ...named, title: "OllamaToolCall" },
);

const messageSchema = Type.Object(
  {
    role: Type.String({ description: "Role of the author: system, user, assistant or tool." }),
    content: nullable(Type.String(), { description: "Text of the message." }),
    thinking: nullable(Type.String(), { description: "In an assistant message: its thoughts." }),
    images: nullable(Type.Array(Type.Unknown()), {
      description: "Refused unless empty, because this server's models read only text.",
    }),
    tool_calls: nullable(Type.Array(toolCall), { description: "In an assistant message: its tool calls." }),
    tool_name: nullable(Type.String(), {
      description: "In a tool message: name of the function that was called.",
    }),
    tool_call_id: nullable(Type.String(), {
      description:
        "In a tool message: id of the call. Without an id, the message belongs to the first open call of the function `tool_name`, or else to the first open call.",
    }),
  },
  { ...named, title: "OllamaMessage" },
);

export const chatFields = {
  messages: field("read", nullable(Type.Array(messageSchema)), {
    about:
      "The conversation so far, oldest first. If the last message is the assistant's, the model continues it. Without messages, the request only loads the model.",
    range: "at most 4,096, unless configured otherwise",
    default: [],
    example: [{ role: "user", content: "Why is the sky blue?" }],
  }),
  tools: field("read", nullable(Type.Array(toolSchema)), {
    about: "Functions that the model may call, as in a chat completion.",
    range: "at most 1,024, unless configured otherwise",
    otherwise: "none",
    example: [
      {
        type: "function",
        function: {
          name: "weather",
          parameters: { type: "object", properties: { city: { type: "string" } } },
        },
      },
    ],
  }),
  ...commonFields,
};

const chatSchema = schemaOf("OllamaChatRequest", chatFields);

export type ChatBody = ValuesOf<typeof chatFields>;

export const chatForm: BodyForm<typeof chatSchema> = {
  schema: chatSchema,
  fields: chatFields,
  more: checkFormat,
  moreUnserved: (body) => [...unservedImages(body), ...unservedOptions(body)],
};

function unservedImages({ messages }: Readonly<Record<string, unknown>>): readonly Fault[] {
  const faults: Fault[] = [];
  eachObject(messages, ({ images }, index) => {
    if (!Array.isArray(images) || images.length === 0) return;
    const message = "images are not supported by this server, whose models read only text; leave them out.";
    faults.push({ location: ["body", "messages", index, "images"], message, type: "unsupported" });
  });
  return faults;
}
