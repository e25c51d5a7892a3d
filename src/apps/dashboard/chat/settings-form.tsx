// Settings of a chat: models, system prompt, sampling, tools and JSON Schema. Each change is written to the page's
// address immediately.
import { useState } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { useLoaded } from "../use-loaded.ts";
import { type ChatSettings, modelsMax, type TextSetting } from "./chat-settings.ts";

/** Sampling options that few chats need, with their names and ranges. */
const moreOptions: readonly (readonly [TextSetting, name: string, min: number, max?: number])[] = [
  ["topK", "top_k", -1],
  ["minP", "min_p", 0, 1],
  ["presencePenalty", "Presence penalty", -2, 2],
  ["frequencyPenalty", "Frequency penalty", -2, 2],
  ["repetitionPenalty", "Repetition penalty", 0, 2],
];

export function SettingsForm({
  hone,
  settings,
  onChange,
}: {
  readonly hone: Hone;
  readonly settings: ChatSettings;
  readonly onChange: (change: Partial<ChatSettings>) => void;
}) {
  const { models, showsTokens } = settings;
  /**
   * Text of the field that the user is editing, until the field's change event. Model fields are identified by their
   * index. Without this state, the next render would restore the previous text.
   */
  const [typed, setTyped] = useState<{
    readonly field: TextSetting | number;
    readonly text: string;
  } | null>(null);
  const shown = (field: TextSetting | number, value: string): string =>
    typed?.field === field ? typed.text : value;
  const text = (name: TextSetting) => ({
    value: shown(name, settings[name]),
    onInput: (event: Event) => setTyped({ field: name, text: textOf(event) }),
    onChange: (event: Event) => {
      setTyped(null);
      onChange({ [name]: textOf(event) });
    },
  });
  const sought = typeof typed?.field === "number" ? typed.text : "";
  const offered = useLoaded(
    async (signal) => (await hone.served.find(sought, { signal })).map(({ id }) => id),
    [hone, sought],
  );
  const setModel = (index: number, name: string): void => {
    setTyped(null);
    onChange({ models: models.map((one, place) => (place === index ? name : one)) });
  };
  return (
    <form class="ask" aria-label="Settings" onSubmit={(event) => event.preventDefault()}>
      <datalist id="served">
        {(offered.value ?? []).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <div class="fields">
        {models.map((model, index) => (
          <label key={index}>
            {models.length === 1 ? "Model" : `Model ${index + 1}`}
            <input
              list="served"
              required
              value={shown(index, model)}
              onInput={(event) => setTyped({ field: index, text: textOf(event) })}
              onChange={({ currentTarget: { value } }) => setModel(index, value.trim())}
            />
          </label>
        ))}
        {models.length < modelsMax && (
          <button type="button" onClick={() => onChange({ models: [...models, offered.value?.[0] ?? ""] })}>
            Add a model
          </button>
        )}
        {models.length > 1 && (
          <button type="button" onClick={() => onChange({ models: models.slice(0, -1) })}>
            Remove the last
          </button>
        )}
        <label class="check">
          <input
            type="checkbox"
            checked={showsTokens}
            onChange={() => onChange({ showsTokens: !showsTokens })}
          />
          Token probabilities
        </label>
      </div>
      <details>
        <summary>System prompt, sampling and tools</summary>
        <label class="wide">
          System prompt
          <textarea rows={2} dir="auto" {...text("system")} />
        </label>
        <div class="fields">
          <label>
            Temperature
            <input type="number" min={0} max={2} step="any" {...text("temperature")} />
          </label>
          <label>
            top_p
            <input type="number" min={0} max={1} step="any" placeholder="default" {...text("topP")} />
          </label>
          <label>
            Maximum tokens
            <input type="number" min={1} step={1} placeholder="default" {...text("maxTokens")} />
          </label>
          <label>
            Seed
            <input type="number" min={0} step={1} placeholder="random" {...text("seed")} />
          </label>
        </div>
        <details>
          <summary>More sampling options</summary>
          <div class="fields">
            {moreOptions.map(([setting, name, min, max]) => (
              <label key={setting}>
                {name}
                <input
                  type="number"
                  min={min}
                  max={max}
                  step={setting === "topK" ? 1 : "any"}
                  placeholder="default"
                  {...text(setting)}
                />
              </label>
            ))}
          </div>
        </details>
        <label class="wide">
          Stop strings, one per line
          <textarea rows={2} {...text("stop")} />
        </label>
        <label class="wide">
          Tools, as a JSON list
          <textarea
            class="code"
            rows={3}
            placeholder='[{"type": "function", "function": {…}}]'
            {...text("tools")}
          />
        </label>
        <label class="wide">
          JSON Schema of the answer
          <textarea class="code" rows={3} {...text("schema")} />
        </label>
      </details>
    </form>
  );
}

/** Returns the text of the field in which the event occurred. */
function textOf({ currentTarget }: Event): string {
  // Safe cast: the fields are inputs or text areas.
  return (currentTarget as HTMLInputElement | HTMLTextAreaElement).value;
}
