// Defines how to start each agent in a rollout: its program (from the npm package for this platform), its arguments and
// environment variables, and a tool call that creates a file. `hone rollout run` sets the variables that contain the
// rollout's key.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const platform = `${process.platform}-${process.arch}`;
/** System prompt of every agent. It is short, because a small vocabulary makes prompts long. */
const instructions = "You are an agent.";

/** Package of OpenCode's program that runs on every x86 CPU. The other Linux package requires AVX2. */
const openCode = "opencode-linux-x64-baseline";

/** Returns the agents by name. They are configured to use the model `agent` of the server at `baseUrl`. */
export function codingAgents({ packages, home, baseUrl }) {
  const instructionsFile = join(home, "instructions.md");
  writeFileSync(instructionsFile, instructions);
  const versionOf = (name) => JSON.parse(readFileSync(join(packages, name, "package.json"), "utf8")).version;
  const inPackage = (name, ...path) => join(packages, `${name}-${platform}`, ...path);
  return {
    claude: {
      get title() {
        return `Claude Code ${versionOf("@anthropic-ai/claude-code")}`;
      },
      tool: "Bash",
      argumentsOf: (file) => ({ command: `touch ${file}`, description: "Write" }),
      command: (task) => [
        inPackage("@anthropic-ai/claude-code", "claude"),
        "-p",
        task,
        "--system-prompt",
        instructions,
        "--tools",
        "Bash",
        "--allowedTools",
        "Bash",
        "--setting-sources",
        "",
        "--max-turns",
        "4",
        "--output-format",
        "json",
      ],
      environment: {
        ANTHROPIC_MODEL: "agent",
        ANTHROPIC_DEFAULT_HAIKU_MODEL: "agent",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      },
    },
    codex: {
      get title() {
        return `Codex ${versionOf("@openai/codex")}`;
      },
      tool: "exec_command",
      argumentsOf: (file) => ({ cmd: `touch ${file}` }),
      command: (task) => [
        codexProgram(inPackage("@openai/codex", "vendor")),
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        ...codexSettings({ baseUrl, instructionsFile }),
        "-m",
        "agent",
        task,
      ],
      environment: {},
    },
    opencode: {
      get title() {
        return `OpenCode ${versionOf(openCode)}`;
      },
      // Uses the tool that writes files, because the description of OpenCode's shell tool is long.
      tool: "write",
      argumentsOf: (filePath) => ({ filePath, content: "yes" }),
      command: (task) => [join(packages, openCode, "bin", "opencode"), "run", task],
      environment: { OPENCODE_CONFIG_CONTENT: JSON.stringify(openCodeSettings) },
    },
  };
}

/**
 * Returns the path of Codex's program. `vendor` contains one folder, named after the platform, such as
 * `x86_64-unknown-linux-musl`.
 */
function codexProgram(vendor) {
  return join(vendor, readdirSync(vendor)[0], "bin", "codex");
}

/**
 * Returns the settings as command-line arguments. Codex parses the values as TOML, which writes strings and numbers
 * like JSON.
 */
function codexSettings({ baseUrl, instructionsFile }) {
  const settings = {
    model_provider: "hone",
    "model_providers.hone.name": "Hone",
    "model_providers.hone.base_url": baseUrl,
    "model_providers.hone.env_key": "OPENAI_API_KEY",
    "model_providers.hone.wire_api": "responses",
    model_context_window: 100_000,
    model_instructions_file: instructionsFile,
    "skills.include_instructions": false,
    "features.goals": false,
    include_environment_context: false,
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${JSON.stringify(value)}`]);
}

const openCodeSettings = {
  provider: {
    hone: {
      npm: "@ai-sdk/openai-compatible",
      name: "Hone",
      options: { baseURL: "{env:OPENAI_BASE_URL}", apiKey: "{env:OPENAI_API_KEY}" },
      models: { agent: { name: "agent", limit: { context: 100_000, output: 300 } } },
    },
  },
  model: "hone/agent",
  small_model: "hone/agent",
  agent: { build: { prompt: instructions, tools: { "*": false, write: true } } },
  permission: { "*": "allow" },
  autoupdate: false,
  share: "disabled",
};
