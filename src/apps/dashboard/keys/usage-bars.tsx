// Usage of the last 30 days: a bar for the tokens of each day, and the whole usage as CSV.
import type { Usage } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { costSum, costText } from "../../client/cost-text.ts";
import { webPlatform } from "../../client/platform.ts";
import { ActionButton } from "../components/forms/action-button.tsx";
import { Icon } from "../components/icon.tsx";
import { counted } from "../components/numbers.ts";
import { saveFile } from "../components/save-file.ts";
import { Shown } from "../components/shown.tsx";
import { useLoaded } from "../use-loaded.ts";
import { axisEnd, daysOf, type DayOfUsage } from "./usage-days.ts";

const dayCount = 30;
/** Maximum number of rows that are read for the bars. */
const rowsMax = 2000;
const everyMs = 60_000;

export function UsageBars({ hone }: { readonly hone: Hone }) {
  const loaded = useLoaded((signal) => readDays(hone, signal), [hone], everyMs);
  const save = async (): Promise<void> => saveFile(await hone.keys.exportUsage(), "usage.csv", "text/csv");
  return (
    <>
      <div class="section-head">
        <h2>Usage</h2>
        <ActionButton act={save}>
          <Icon of="download" /> CSV
        </ActionButton>
      </div>
      <Shown loaded={loaded}>{(days) => <Bars days={days} />}</Shown>
    </>
  );
}

function Bars({ days }: { readonly days: readonly DayOfUsage[] }) {
  const most = axisEnd(Math.max(...days.map(({ tokens }) => tokens)));
  const sum = (of: (day: DayOfUsage) => number): number => days.reduce((total, day) => total + of(day), 0);
  const cost = costText(costSum(days));
  return (
    <figure class="card usage-bars">
      <figcaption>
        <strong>{exact(sum(({ tokens }) => tokens))}</strong> tokens of prompts, answers and training in{" "}
        <strong>{exact(sum(({ requests }) => requests))}</strong> requests
        {cost !== null && (
          <>
            {" "}
            for <strong>{cost}</strong>
          </>
        )}{" "}
        <span class="muted">in the last {counted(dayCount, "day")}</span>
      </figcaption>
      <div class="bar-ticks muted" aria-hidden="true">
        {[most, most / 2, 0].map((tick) => (
          <span key={tick}>{exact(tick)}</span>
        ))}
      </div>
      <div class="bars" aria-hidden="true">
        {days.map((day) => (
          <i
            key={day.day}
            class={day.tokens === 0 ? "none" : undefined}
            title={dayText(day)}
            style={{ height: `${(100 * day.tokens) / most}%` }}
          />
        ))}
      </div>
      <div class="now-line muted bar-axis" aria-hidden="true">
        <span>{days[0]?.day}</span>
        <span>{days.at(-1)?.day}</span>
      </div>
    </figure>
  );
}

function exact(count: number): string {
  return count.toLocaleString("en");
}

function dayText({ day, tokens, requests, ...cost }: DayOfUsage): string {
  const counts = [`${exact(tokens)} tokens`, `${exact(requests)} requests`];
  return `${day}: ${[...counts, costText(cost)].filter((part) => part !== null).join(", ")}`;
}

async function readDays(hone: Hone, signal: AbortSignal): Promise<readonly DayOfUsage[]> {
  const today = webPlatform.now();
  const from = new Date(today.getTime() - (dayCount - 1) * 86_400_000).toISOString().slice(0, 10);
  const rows: Usage[] = [];
  for await (const row of hone.keys.usage({ from }, { signal })) {
    rows.push(row);
    if (rows.length === rowsMax) break;
  }
  return daysOf(rows, today, dayCount);
}
