// Sets up each coding agent to use a model of this server: its program, arguments and environment variables. The
// names were checked with Claude Code 2.1, Codex 0.171 and OpenCode 1.18.

export interface ServedModelAccess {
  /** Address of the server, without `/v1`. */
  readonly address: string;
  /** API key; null if the server requires none. */
  readonly key: string | null;
  readonly model: string;
  /** Maximum length of prompt and answer together, in tokens; null if unknown. */
  readonly contextLength: number | null;
}

export interface AgentProgram {
  readonly command: string;
  /** Command line that installs the program. */
  readonly install: string;
  /** Arguments that precede the user's. */
  readonly words: readonly string[];
  /** Variables to set; undefined to remove one. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Key for a server that requires none. The agents refuse to start without a key. */
const anyKey = "none";

export const codingAgents = { claude, codex, opencode } as const;
export type CodingAgent = keyof typeof codingAgents;

function claude({ address, key, model }: ServedModelAccess): AgentProgram {
  return {
    command: "claude",
    install: "npm install --global @anthropic-ai/claude-code",
    words: [],
    environment: {
      ANTHROPIC_BASE_URL: address,
      ANTHROPIC_AUTH_TOKEN: key ?? anyKey,
      // Claude Code would send this key in place of the token.
      ANTHROPIC_API_KEY: undefined,
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      ANTHROPIC_DEFAULT_SONNET_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  };
}

function codex({ address, key, model, contextLength }: ServedModelAccess): AgentProgram {
  const provider = {
    model_provider: "hone",
    "model_providers.hone.name": "Hone",
    "model_providers.hone.base_url": `${address}/v1`,
    "model_providers.hone.env_key": "HONE_API_KEY",
    "model_providers.hone.wire_api": "responses",
    ...(contextLength === null ? {} : { model_context_window: contextLength }),
  };
  // Codex parses values as TOML, whose strings and numbers are written as in JSON.
  const settings = Object.entries(provider).flatMap(([name, value]) => [
    "-c",
    `${name}=${JSON.stringify(value)}`,
  ]);
  return {
    command: "codex",
    install: "npm install --global @openai/codex",
    words: [...settings, "--model", model],
    environment: { HONE_API_KEY: key ?? anyKey },
  };
}

function opencode({ address, key, model, contextLength }: ServedModelAccess): AgentProgram {
  const limit = contextLength === null ? {} : { limit: { context: contextLength, output: contextLength } };
  const config = {
    provider: {
      hone: {
        npm: "@ai-sdk/openai-compatible",
        name: "Hone",
        options: { baseURL: `${address}/v1`, apiKey: key ?? anyKey },
        models: { [model]: { name: model, ...limit } },
      },
    },
    model: `hone/${model}`,
    small_model: `hone/${model}`,
  };
  return {
    command: "opencode",
    install: "npm install --global opencode-ai",
    words: [],
    environment: { OPENCODE_CONFIG_CONTENT: JSON.stringify(config) },
  };
}
