// View that compares the answers of two models or versions to one prompt, with the same sampling options and seed.
import { useRef, useState } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { AnswerSide } from "../compare/answer-side.tsx";
import type { Message, Sampling } from "../compare/stream-answer.ts";
import { type SideState, useAnswers } from "../compare/use-answers.ts";
import { answerOf, type Subject } from "../feedback/references.ts";
import { Shown, View } from "../components/shown.tsx";
import { LevelLegend } from "../trajectories/token-text.tsx";
import { addressOf, go, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";

export function Compare({ hone }: { readonly hone: Hone }) {
  const names = useLoaded(async (signal) => (await hone.served.list({ signal })).map(({ id }) => id), [hone]);
  return (
    <View title="Compare">
      <Shown loaded={names}>{(served) => <Sides hone={hone} served={served} />}</Shown>
    </View>
  );
}

function Sides({ hone, served }: { readonly hone: Hone; readonly served: readonly string[] }) {
  const { query } = place.value;
  const models = [query.get("left") ?? served.at(-1) ?? "", query.get("right") ?? served[0] ?? ""] as const;
  const { sides, isRunning, ask, stop } = useAnswers(hone);
  const [asked, setAsked] = useState(models);
  const key = useLoaded((signal) => hone.server.key({ signal }), [hone]);
  const submit = (form: HTMLFormElement): void => {
    const chosen = modelsIn(form);
    setAsked(chosen);
    ask(chosen, messagesIn(form), samplingIn(form));
    const address = addressOf("compare", [], { left: chosen[0], right: chosen[1] });
    // Puts the models that answered into the URL. The prompt that the user has typed remains.
    if (address !== location.hash) go(address);
  };
  const subjectOf = (index: 0 | 1): Subject | null => {
    const state: SideState = sides[index];
    const hasEnded = state.kind !== "empty" && state.kind !== "running";
    if (!hasEnded || state.answer.id === null || key.value === null) return null;
    return answerOf(asked[index], state.answer.id, key.value.entity);
  };
  return (
    <>
      <AskForm models={models} served={served} isRunning={isRunning} onSubmit={submit} onStop={stop} />
      <LevelLegend />
      <div class="sides">
        {([0, 1] as const).map((index) => (
          <AnswerSide
            key={index}
            hone={hone}
            name={index === 0 ? "Left answer" : "Right answer"}
            model={sides[index].kind === "empty" ? models[index] : asked[index]}
            state={sides[index]}
            subject={subjectOf(index)}
          />
        ))}
      </div>
    </>
  );
}

function AskForm({
  models,
  served,
  isRunning,
  onSubmit,
  onStop,
}: {
  readonly models: readonly [string, string];
  readonly served: readonly string[];
  readonly isRunning: boolean;
  readonly onSubmit: (form: HTMLFormElement) => void;
  readonly onStop: () => void;
}) {
  const form = useRef<HTMLFormElement>(null);
  return (
    <form
      ref={form}
      class="ask"
      aria-label="Question"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(event.currentTarget);
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.current?.requestSubmit();
        else if (event.key === "Escape" && isRunning) onStop();
      }}
    >
      <datalist id="served">
        {served.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <div class="fields">
        <label>
          Left
          <input name="left" list="served" required key={models[0]} defaultValue={models[0]} />
        </label>
        <label>
          Right
          <input name="right" list="served" required key={models[1]} defaultValue={models[1]} />
        </label>
      </div>
      <details>
        <summary>System prompt and sampling</summary>
        <label class="wide">
          System prompt
          <textarea name="system" rows={2} />
        </label>
        <div class="fields">
          <Setting name="temperature" label="Temperature" value={1} min={0} max={2} />
          <Setting name="topP" label="top_p" value={1} min={0} max={1} />
          <Setting name="maxTokens" label="Maximum tokens" value={256} min={1} step="1" />
          <Setting name="seed" label="Seed" value={1} min={0} step="1" />
        </div>
      </details>
      <label class="wide">
        Prompt
        <textarea name="prompt" rows={3} required />
      </label>
      <p class="links">
        <button type="submit">Ask both</button>
        <button type="button" disabled={!isRunning} onClick={onStop}>
          Stop
        </button>
        <span class="muted">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd> asks, <kbd>Esc</kbd> stops
        </span>
      </p>
    </form>
  );
}

function Setting({
  name,
  label,
  value,
  ...range
}: {
  readonly name: keyof Sampling;
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max?: number;
  readonly step?: string;
}) {
  return (
    <label>
      {label}
      <input name={name} type="number" required defaultValue={String(value)} step="any" {...range} />
    </label>
  );
}

function modelsIn(form: HTMLFormElement): readonly [string, string] {
  const data = new FormData(form);
  return [textIn(data, "left").trim(), textIn(data, "right").trim()];
}

function messagesIn(form: HTMLFormElement): readonly Message[] {
  const data = new FormData(form);
  const system = textIn(data, "system");
  const prompt: Message = { role: "user", content: textIn(data, "prompt") };
  return system.trim() === "" ? [prompt] : [{ role: "system", content: system }, prompt];
}

function samplingIn(form: HTMLFormElement): Sampling {
  const data = new FormData(form);
  const number = (name: keyof Sampling): number => Number(textIn(data, name));
  return {
    temperature: number("temperature"),
    topP: number("topP"),
    maxTokens: number("maxTokens"),
    seed: number("seed"),
  };
}

function textIn(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === "string" ? value : "";
}
