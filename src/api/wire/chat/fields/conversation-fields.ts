// The fields of a chat request that say which conversation is rendered, and how. What is tokenized has them too.
import { Type } from "typebox";
import { anyObject, named } from "../../fields/any-object.ts";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";

/** A member whose value the chat template reads, or nothing does. */
const free = (description: string) => Type.Optional(Type.Unknown({ description }));

const contentPart = Type.Union([
  Type.String({ title: "str" }),
  Type.Object(
    {
      type: Type.String({ description: "`text`, `input_text`, `output_text`, `refusal` or `thinking`." }),
      text: free("Of a text: the text."),
      refusal: free("Of a refusal: its text."),
      thinking: free("What was thought, for templates that read it here."),
      annotations: free("Accepted without use."),
      logprobs: free("Accepted without use."),
    },
    { ...named, title: "ContentPart" },
  ),
]);

const toolCall = Type.Object(
  {
    id: free("What the result of the call names."),
    type: free("`function` or `custom`."),
    index: free("Accepted without use."),
    function: nullable(
      Type.Object(
        { name: free("What is called."), arguments: free("Arguments as JSON, or as a text of it.") },
        { ...named, title: "CalledFunction" },
      ),
      { description: "Of a function's call: its name and arguments." },
    ),
    custom: nullable(
      Type.Object(
        { name: free("What is called."), input: free("The text that the tool takes.") },
        { ...named, title: "CalledCustomTool" },
      ),
      { description: "Of a custom tool's call: its name and text." },
    ),
  },
  { ...named, title: "MessageToolCall" },
);

export const messageSchema = Type.Object(
  {
    role: Type.String({
      description:
        "Such as developer, system, user, assistant, tool; the chat template decides which there are.",
    }),
    content: nullable(
      Type.Union([Type.String({ title: "str" }), Type.Array(contentPart, { title: "list[ContentPart]" })]),
      { description: "A text, or parts whose texts are joined." },
    ),
    name: nullable(Type.String(), { description: "Who says it, for templates that show names." }),
    tool_call_id: nullable(Type.String(), { description: "Of a tool's message: which call it answers." }),
    tool_calls: nullable(Type.Array(toolCall), {
      description: "Of an assistant's message: the calls that it made, as answers have them.",
    }),
    reasoning: nullable(Type.Unknown(), { description: "Of an assistant's message: what it thought." }),
    reasoning_content: nullable(Type.Unknown(), { description: "The same by its other name." }),
    // Members that answers have, or that chat templates read.
    refusal: free("Of a refusal: its text."),
    annotations: free("Accepted without use."),
    thinking: free("What was thought, for templates that read it here."),
    tools: free("Tools that the message brings, for templates that read them here."),
    prompt_token_ids: nullable(Type.Array(Type.Integer({ minimum: 0 })), {
      description: "Of an assistant's message: the exact tokens that it answered, as its choice had them.",
    }),
    token_ids: nullable(Type.Array(Type.Integer({ minimum: 0 })), {
      description:
        "Of an assistant's message: its own exact tokens. With prompt_token_ids the prompt begins with both, where they are the text that the template renders; else the text is tokenized as always.",
    }),
  },
  { ...named, title: "Message" },
);

const toolSchema = Type.Object(
  {
    type: Type.Enum(["function", "custom"], { description: "`custom` takes one text instead of arguments." }),
    function: nullable(
      Type.Object(
        {
          name: Type.String({ description: "What the model calls it by." }),
          description: nullable(Type.String(), { description: "What it does, for the model." }),
          parameters: nullable(anyObject, { description: "JSON Schema of the arguments." }),
          strict: nullable(Type.Boolean(), { description: "Arguments follow the schema exactly." }),
        },
        { ...named, title: "FunctionDefinition" },
      ),
      { description: "The function, of a tool of this type." },
    ),
    custom: nullable(
      Type.Object(
        {
          name: Type.String({ description: "What the model calls it by." }),
          description: nullable(Type.String(), { description: "What it does, for the model." }),
          format: nullable(
            Type.Object(
              {
                type: Type.Enum(["text", "grammar"], { description: "`text` takes any text." }),
                grammar: nullable(
                  Type.Object(
                    {
                      syntax: Type.Enum(["lark", "regex"], { description: "How it is written." }),
                      definition: Type.String({ description: "The grammar, which every call keeps." }),
                    },
                    { ...named, title: "ToolGrammar" },
                  ),
                  { description: "With `grammar`: what the text matches." },
                ),
              },
              { ...named, title: "ToolFormat" },
            ),
            { description: "What the text is held to." },
          ),
        },
        { ...named, title: "CustomDefinition" },
      ),
      { description: "The tool, of one of this type." },
    ),
  },
  { ...named, title: "Tool" },
);

export const conversationFields = {
  messages: field("prompt.messages", Type.Array(messageSchema, { minItems: 1 }), {
    about:
      "The conversation so far, oldest first; the chat template decides about roles. Where it refuses a system message behind others, all system messages are joined into the first.",
    range: "at most 4,096, of at most 1,024 parts each, unless configured otherwise",
    example: [{ role: "user", content: "What is the capital of France?" }],
    inResponses: false,
  }),
  tools: field("prompt.tools", nullable(Type.Array(toolSchema)), {
    about: "Functions that the chat template shows to the model, and that it may call.",
    range: "at most 1,024 unless configured otherwise",
    otherwise: "none",
    example: [
      {
        type: "function",
        function: {
          name: "weather",
          description: "The weather in a city",
          parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        },
      },
    ],
    inResponses: false,
  }),
  documents: field(
    "prompt.documents",
    nullable(Type.Array(Type.Object({}, { additionalProperties: Type.String() }))),
    {
      about: "Documents that the chat template shows to the model, if it does; all their values are texts.",
      otherwise: "none",
      example: [{ title: "Cats", text: "A cat has four legs." }],
    },
  ),
  chat_template: field("prompt.template", nullable(Type.String()), {
    about:
      "A Jinja template instead of the model's own, rendered within limits of size and time; needed where the model has none.",
    range: "at most 262,144 characters, unless configured otherwise",
    otherwise: "the model's own",
    example: "{% for message in messages %}{{ message.content }}\n{% endfor %}",
  }),
  chat_template_kwargs: field("prompt.templateArguments", nullable(anyObject), {
    about:
      "Further variables for the chat template. They hide its own, but neither the messages nor what a field of the request says.",
    range: "neither `chat_template` nor `tokenize`, which are no variables",
    default: {},
    example: { enable_thinking: false },
  }),
  reasoning_effort: field(
    "prompt.reasoningEffort",
    nullable(Type.Enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"])),
    {
      about:
        "How much the model is to think: the chat template sees it as reasoning_effort, and as enable_thinking, which only `none` makes false.",
      otherwise: "the template's own",
      example: "low",
      inResponses: false,
    },
  ),
  add_generation_prompt: field("prompt.addGenerationPrompt", Type.Optional(Type.Boolean()), {
    about: "Ends the prompt with what opens the assistant's turn.",
    otherwise: "true; false with continue_final_message",
    example: false,
    inResponses: false,
  }),
  continue_final_message: field("prompt.continueFinalMessage", Type.Optional(Type.Boolean()), {
    about: "Leaves the last message open, and the model goes on with it; excludes add_generation_prompt.",
    default: false,
    example: true,
    inResponses: false,
  }),
  add_special_tokens: field("prompt.addSpecialTokens", Type.Optional(Type.Boolean()), {
    about: "Adds the tokenizer's special tokens to those of the template.",
    default: false,
    example: true,
  }),
};
