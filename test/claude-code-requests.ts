// Requests as Claude Code sends them, based on published recordings. Members, blocks, headers and schemas are those of
// the recordings. The texts are shorter and written for these tests.

/** Headers of a request within a session. */
export const claudeCodeHeaders = {
  "anthropic-version": "2023-06-01",
  "anthropic-beta":
    "claude-code-20250219,interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14,context-management-2025-06-27,prompt-caching-scope-2026-01-05,effort-2025-11-24",
  "anthropic-dangerous-direct-browser-access": "true",
  "x-app": "cli",
  "user-agent": "claude-cli/2.1.69 (external, cli)",
  "x-stainless-helper-method": "stream",
  "x-stainless-retry-count": "0",
  "x-stainless-timeout": "600",
} as const;

const ephemeral = { type: "ephemeral" } as const;
const text = (content: string) => ({ type: "text" as const, text: content });
const cached = (content: string) => ({ ...text(content), cache_control: ephemeral });

/** @param request text that differs between requests, like Claude Code's billing header */
export const system = (request: string) => [
  text(`x-anthropic-billing-header: cc_version=2.1.69.${request}; cc_entrypoint=cli; cch=${request};`),
  cached("You are a program that helps with software in a terminal."),
  cached(
    [
      "# Tone",
      "Answer in few words, and in none that are not asked for.",
      "# Tools",
      "Read a file before you change it. Say what a command does before you run it.",
      "# Environment",
      "Working directory: /home/ann/project\nIs directory a git repo: Yes\nPlatform: linux",
    ].join("\n\n"),
  ),
];

const member = (type: string, description: string) => ({ type, description });

const tool = (name: string, properties: object, required: readonly string[]) => ({
  name,
  description: `${name}, as the terminal has it.`,
  input_schema: {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object" as const,
    properties,
    required: [...required],
    additionalProperties: false,
  },
});

const path = member("string", "The absolute path of the file");

export const tools = [
  tool(
    "Bash",
    {
      command: member("string", "The command"),
      timeout: { ...member("number", "In milliseconds"), maximum: 600_000 },
      run_in_background: member("boolean", "Whether it goes on by itself"),
    },
    ["command"],
  ),
  tool("Glob", { pattern: member("string", "The pattern"), path: member("string", "Where") }, ["pattern"]),
  tool(
    "Grep",
    {
      pattern: member("string", "The pattern"),
      output_mode: { type: "string", enum: ["content", "files_with_matches", "count"] },
      "-A": member("number", "Lines behind"),
      "-i": member("boolean", "Whatever the case"),
    },
    ["pattern"],
  ),
  tool(
    "Read",
    { file_path: path, offset: member("integer", "The line"), limit: member("integer", "Lines") },
    ["file_path"],
  ),
  tool(
    "Edit",
    {
      file_path: path,
      old_string: member("string", "What goes"),
      new_string: member("string", "What comes"),
      replace_all: { ...member("boolean", "Everywhere"), default: false },
    },
    ["file_path", "old_string", "new_string"],
  ),
  tool("Write", { file_path: path, content: member("string", "All of it") }, ["file_path", "content"]),
  tool("WebFetch", { url: { type: "string", format: "uri" }, prompt: member("string", "What for") }, [
    "url",
    "prompt",
  ]),
  tool(
    "TodoWrite",
    {
      todos: {
        type: "array",
        items: {
          type: "object",
          properties: {
            content: { type: "string", minLength: 1 },
            status: { type: "string", enum: ["pending", "in_progress", "completed"] },
          },
          required: ["content", "status"],
          additionalProperties: false,
        },
      },
    },
    ["todos"],
  ),
  { ...tool("Task", { prompt: member("string", "What to do") }, ["prompt"]), cache_control: ephemeral },
];

const metadata = {
  user_id: "user_0784b260bff170af_account_261d5434-c8c2-431f-b07d-2e480cd4622f_session_b4e5aaaa-9a3e-47c4",
};

const reminder = text("<system-reminder>\nThe date is 2026-11-20.\n</system-reminder>\n");

/** First request of a session: a text that the program adds, and the user's message. */
export const firstTurn = (request: string) => ({
  max_tokens: 32_000,
  system: system(request),
  messages: [
    {
      role: "user" as const,
      content: "<available-deferred-tools>\nNotebookEdit\n</available-deferred-tools>",
    },
    { role: "user" as const, content: [reminder, cached("What does main.ts do?")] },
  ],
  tools,
  metadata,
  thinking: { type: "adaptive" as const },
  output_config: { effort: "medium" as const },
  context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
  stream: true as const,
});

/**
 * Second request of a session. It sends back the model's reasoning, text and tool calls with their result. It also has
 * a system message in the middle of the conversation.
 */
export const secondTurn = (request: string) => ({
  ...firstTurn(request),
  messages: [
    ...firstTurn(request).messages,
    {
      role: "assistant" as const,
      content: [
        { type: "thinking" as const, thinking: "The file says it.", signature: "EqQBCgIYAhIM" },
        text("I read it."),
        {
          type: "tool_use" as const,
          id: "toolu_01",
          name: "Read",
          input: { file_path: "/home/ann/project/main.ts" },
        },
      ],
    },
    {
      role: "user" as const,
      content: [
        {
          type: "tool_result" as const,
          tool_use_id: "toolu_01",
          content: [text("     1\tconsole.log('hello');")],
          is_error: false,
          cache_control: ephemeral,
        },
        reminder,
      ],
    },
    { role: "system" as const, content: "<total_tokens>180000 tokens left</total_tokens>" },
  ],
});

/** Small request for a title of the session, in the form of an older version of Claude Code. */
export const titleRequest = {
  max_tokens: 512,
  messages: [{ role: "user" as const, content: "Name this conversation in few words:\n\nUser: Hello" }],
  system: [cached("Sum up in under 50 characters.")],
  temperature: 0,
  metadata,
  stream: true as const,
};

/** Request that Claude Code sends before all others to check the API key. */
export const quotaRequest = {
  max_tokens: 1,
  messages: [{ role: "user" as const, content: "quota" }],
  metadata,
};
