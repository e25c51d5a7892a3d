// Fields for the conversation of a chat request and its rendering. Tokenization requests have these fields too.
import { Type } from "typebox";
import { anyObject, named } from "../../fields/any-object.ts";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";

/** Defines a member that only chat templates may read. */
const free = (description: string) => Type.Optional(Type.Unknown({ description }));

const contentPart = Type.Union([
  Type.String({ title: "str" }),
  Type.Object(
    {
      type: Type.String({ description: "`text`, `input_text`, `output_text`, `refusal` or `thinking`." }),
      text: free("Text of a text part."),
      refusal: free("Text of a refusal."),
      thinking: free("The thoughts, for templates that read them here."),
      annotations: free("Accepted without use."),
      logprobs: free("Accepted without use."),
    },
    { ...named, title: "ContentPart" },
  ),
]);

const toolCall = Type.Object(
  {
    id: free("Id that the call's result refers to."),
    type: free("`function` or `custom`."),
    index: free("Accepted without use."),
    function: nullable(
      Type.Object(
        { name: free("Name of the function."), arguments: free("Arguments as JSON, or as JSON text.") },
        { ...named, title: "CalledFunction" },
      ),
      { description: "Name and arguments of a function call." },
    ),
    custom: nullable(
      Type.Object(
        { name: free("Name of the tool."), input: free("Input text of the tool.") },
        { ...named, title: "CalledCustomTool" },
      ),
      { description: "Name and input text of a custom tool call." },
    ),
  },
  { ...named, title: "MessageToolCall" },
);

export const messageSchema = Type.Object(
  {
    role: Type.String({
      description:
        "A role such as developer, system, user, assistant or tool; the chat template decides which roles exist.",
    }),
    content: nullable(
      Type.Union([Type.String({ title: "str" }), Type.Array(contentPart, { title: "list[ContentPart]" })]),
      { description: "A text, or parts whose texts are joined." },
    ),
    name: nullable(Type.String(), { description: "Name of the speaker, for templates that show names." }),
    tool_call_id: nullable(Type.String(), {
      description: "In a tool message: id of the call that it answers.",
    }),
    tool_calls: nullable(Type.Array(toolCall), {
      description: "In an assistant message: its tool calls, in the form of answers.",
    }),
    reasoning: nullable(Type.Unknown(), { description: "In an assistant message: its thoughts." }),
    reasoning_content: nullable(Type.Unknown(), { description: "Alias of reasoning." }),
    // Members that answers of this server have, or that some chat templates read.
    refusal: free("Text of a refusal."),
    annotations: free("Accepted without use."),
    thinking: free("The thoughts, for templates that read them here."),
    tools: free("Tools of the message, for templates that read them here."),
    prompt_token_ids: nullable(Type.Array(Type.Integer({ minimum: 0 })), {
      description: "In an assistant message: exact tokens of its prompt, from the choice that returned it.",
    }),
    token_ids: nullable(Type.Array(Type.Integer({ minimum: 0 })), {
      description:
        "In an assistant message: its own exact tokens. The prompt starts with prompt_token_ids and these if they match the text that the template renders; otherwise the text is tokenized as usual.",
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
          name: Type.String({ description: "Name of the function, as the model sees it." }),
          description: nullable(Type.String(), {
            description: "Description of the function, for the model.",
          }),
          parameters: nullable(anyObject, { description: "JSON Schema of the arguments." }),
          strict: nullable(Type.Boolean(), { description: "If true, arguments satisfy the schema exactly." }),
        },
        { ...named, title: "FunctionDefinition" },
      ),
      { description: "The function, for a tool of this type." },
    ),
    custom: nullable(
      Type.Object(
        {
          name: Type.String({ description: "Name of the tool, as the model sees it." }),
          description: nullable(Type.String(), { description: "Description of the tool, for the model." }),
          format: nullable(
            Type.Object(
              {
                type: Type.Enum(["text", "grammar"], { description: "`text` accepts any text." }),
                grammar: nullable(
                  Type.Object(
                    {
                      syntax: Type.Enum(["lark", "regex"], { description: "Notation of the grammar." }),
                      definition: Type.String({ description: "Grammar that every call matches." }),
                    },
                    { ...named, title: "ToolGrammar" },
                  ),
                  { description: "With `grammar`: the grammar of the text." },
                ),
              },
              { ...named, title: "ToolFormat" },
            ),
            { description: "Format of the tool's input text." },
          ),
        },
        { ...named, title: "CustomDefinition" },
      ),
      { description: "The custom tool, for a tool of this type." },
    ),
  },
  { ...named, title: "Tool" },
);

export const conversationFields = {
  messages: field("prompt.messages", Type.Array(messageSchema, { minItems: 1 }), {
    about:
      "The conversation so far, oldest first; the chat template decides about roles. If the template refuses a system message after other messages, all system messages are joined into the first.",
    range: "at most 4,096, of at most 1,024 parts each, unless configured otherwise",
    example: [{ role: "user", content: "What is the capital of France?" }],
    inResponses: false,
  }),
  tools: field("prompt.tools", nullable(Type.Array(toolSchema)), {
    about: "Functions that the chat template shows to the model and that the model may call.",
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
      about: "Documents for chat templates that show them to the model; all their values are texts.",
      otherwise: "none",
      example: [{ title: "Cats", text: "A cat has four legs." }],
    },
  ),
  chat_template: field("prompt.template", nullable(Type.String()), {
    about:
      "A Jinja template to use instead of the model's own, rendered within limits of size and time. Required if the model has none.",
    range: "at most 262,144 characters, unless configured otherwise",
    otherwise: "the model's own",
    example: "{% for message in messages %}{{ message.content }}\n{% endfor %}",
  }),
  chat_template_kwargs: field("prompt.templateArguments", nullable(anyObject), {
    about:
      "Additional variables for the chat template. They override the template's defaults, but neither the messages nor values from request fields.",
    range: "neither `chat_template` nor `tokenize`, which are not variables",
    default: {},
    example: { enable_thinking: false },
  }),
  reasoning_effort: field(
    "prompt.reasoningEffort",
    nullable(Type.Enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"])),
    {
      about:
        "How much the model should think. The chat template sees the value as reasoning_effort, and as enable_thinking, which is false only for `none`.",
      otherwise: "the template's own",
      example: "low",
      inResponses: false,
    },
  ),
  add_generation_prompt: field("prompt.addGenerationPrompt", Type.Optional(Type.Boolean()), {
    about: "Ends the prompt with the opening of the assistant's turn.",
    otherwise: "true; false with continue_final_message",
    example: false,
    inResponses: false,
  }),
  continue_final_message: field("prompt.continueFinalMessage", Type.Optional(Type.Boolean()), {
    about: "Leaves the last message open, and the model continues it; excludes add_generation_prompt.",
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
