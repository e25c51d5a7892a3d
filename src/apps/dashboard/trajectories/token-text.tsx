// Shows an answer's tokens, coloured by probability, and the details of the token that the pointer or the arrow keys
// select. However many tokens it has, the text is a single tab stop.
import { useId, useState } from "preact/hooks";
import { counted } from "../components/numbers.ts";
import {
  drawnText,
  glyphText,
  levelBounds,
  meanLogprob,
  probabilityText,
  type ShownToken,
  visibleText,
} from "./tokens.ts";

/** Maximum number of tokens that are drawn before the user asks for all. */
const drawnMax = 4000;

export function TokenText({
  tokens,
  label,
}: {
  readonly tokens: readonly ShownToken[];
  readonly label: string;
}) {
  const id = useId();
  const [current, setCurrent] = useState<number | null>(null);
  const [drawnCount, setDrawnCount] = useState(drawnMax);
  const drawn = tokens.slice(0, drawnCount);
  const textAt = (token: ShownToken, index: number): string => drawnText(token, index === tokens.length - 1);
  const move = (event: KeyboardEvent): void => {
    const next = nextIndex(event.key, current ?? -1, drawn.length);
    if (next === null) return;
    event.preventDefault();
    setCurrent(next);
    document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: "nearest" });
  };
  const point = (event: Event): void => setCurrent((index) => indexAt(event) ?? index);
  return (
    <div>
      <div
        class="token-text"
        dir="auto"
        role="listbox"
        aria-label={label}
        aria-activedescendant={current === null ? undefined : `${id}-${current}`}
        tabIndex={0}
        onFocus={() => setCurrent((index) => index ?? 0)}
        onKeyDown={move}
        onPointerOver={point}
        onClick={point}
      >
        {drawn.map((token, index) => (
          <span
            key={index}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === current}
            aria-label={`${visibleText(textAt(token, index))} ${probabilityText(token.logprob)}`}
            class={classOf(token, index === current)}
            data-index={index}
          >
            {glyphText(textAt(token, index))}
          </span>
        ))}
      </div>
      {drawn.length < tokens.length && (
        <button type="button" onClick={() => setDrawnCount(tokens.length)}>
          Show the other {(tokens.length - drawn.length).toLocaleString("en")} tokens
        </button>
      )}
      <TokenDetail tokens={tokens} index={current} />
    </div>
  );
}

function TokenDetail({
  tokens,
  index,
}: {
  readonly tokens: readonly ShownToken[];
  readonly index: number | null;
}) {
  const token = index === null ? undefined : tokens[index];
  const mean = meanLogprob(tokens);
  if (token === undefined || index === null)
    return (
      <p class="token-detail muted">
        {counted(tokens.length, "token")}
        {mean === null ? "" : `, on average ${probabilityText(mean)}`}
      </p>
    );
  return (
    <p class="token-detail">
      <span class="muted">
        {(index + 1).toLocaleString("en")} of {tokens.length.toLocaleString("en")}
      </span>{" "}
      <code>{visibleText(drawnText(token, index === tokens.length - 1))}</code>{" "}
      <strong>{probabilityText(token.logprob)}</strong>
      {token.alternatives.length > 0 && <span class="muted"> alternatives </span>}
      {token.alternatives.map(({ text, logprob }, place) => (
        <span key={place} class="alternative">
          <code>{visibleText(text)}</code> {probabilityText(logprob)}
        </span>
      ))}
    </p>
  );
}

/** Legend of the colours. */
export function LevelLegend() {
  const names = [...levelBounds.map((bound) => `${bound * 100} %`), "less"];
  return (
    <p class="level-legend">
      <span class="muted">Probability of a token, at least:</span>
      {names.map((name, level) => (
        <span key={name} class={`token level-${level}`}>
          {name}
        </span>
      ))}
    </p>
  );
}

function classOf({ level, isTextless: hasNone }: ShownToken, isCurrent: boolean): string {
  return `token${hasNone ? " textless" : ""}${level === null ? "" : ` level-${level}`}${isCurrent ? " current" : ""}`;
}

function indexAt({ target }: Event): number | null {
  const index = target instanceof HTMLElement ? target.dataset["index"] : undefined;
  return index === undefined ? null : Number(index);
}

/** Returns the index of the token that a key selects; null for keys that select none. */
function nextIndex(key: string, index: number, count: number): number | null {
  const within = (next: number): number => Math.max(0, Math.min(count - 1, next));
  if (key === "ArrowRight" || key === "ArrowDown") return within(index + 1);
  if (key === "ArrowLeft" || key === "ArrowUp") return within(index - 1);
  if (key === "Home") return 0;
  return key === "End" ? within(count - 1) : null;
}
