// Cards of the base models in the overview: state, load, and the use of the caches.
import type { ComponentChildren } from "preact";
import type { ServerSummary } from "../../client/api.ts";
import { byteText, shortNumber } from "../components/numbers.ts";
import { Facts, State } from "../components/shown.tsx";
import { isAway } from "../live.ts";

type Base = ServerSummary["bases"][number];

export function Bases({ bases }: { readonly bases: readonly Base[] }) {
  return (
    <section aria-labelledby="bases">
      <h2 id="bases">Base models</h2>
      {bases.map((base) => (
        <BaseCard key={base.name} base={base} />
      ))}
    </section>
  );
}

/** @param children further facts and actions */
export function BaseCard({ base, children }: { readonly base: Base; readonly children?: ComponentChildren }) {
  const { name, state, prefix_cache_hits: hits, prefix_cache_queries: queries } = base;
  const [shortState = "", reason] = state.split(/: (.*)/s, 2);
  return (
    <div class="card base">
      <h3>
        {name} <State of={isAway.value ? "unknown" : shortState} />
      </h3>
      {reason !== undefined && <p class={shortState === "unloaded" ? "muted" : "failure"}>{reason}</p>}
      <Facts
        of={[
          ["running requests", text(base.requests_running)],
          ["queued requests", text(base.requests_waiting)],
          ["generated tokens", text(base.generated_tokens)],
          [
            "prompt tokens from the cache",
            !queries ? "–" : `${shortNumber((100 * (hits ?? 0)) / queries)} %`,
          ],
        ]}
      />
      <Meter label={`KV cache of ${name}`} used={base.kv_cache_bytes} most={base.kv_cache_bytes_max} />
      {children}
    </div>
  );
}

function Meter({
  label,
  used,
  most,
}: {
  readonly label: string;
  readonly used: number | null;
  readonly most: number | null;
}) {
  if (used === null || most === null) return null;
  return (
    <p class="meter">
      <span>KV cache</span>
      <span class="muted">
        {byteText(used)} of {byteText(most)}
      </span>
      <meter aria-label={label} min={0} max={most} value={used} />
    </p>
  );
}

function text(value: number | null): string {
  return value === null ? "–" : shortNumber(value);
}
