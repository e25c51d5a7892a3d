// Parts of the server in the overview: one line if all are well, and each fault with its description.
import { State } from "../components/shown.tsx";
import { counted } from "../components/numbers.ts";
import { isAway } from "../live.ts";

export function Parts({
  parts,
  note,
  version,
}: {
  readonly parts: Readonly<Record<string, string>>;
  readonly note: string;
  readonly version: string;
}) {
  const all = Object.entries(parts);
  const faults = all.filter(([, state]) => state !== "ok");
  return (
    <section aria-labelledby="server">
      <h2 id="server">Server</h2>
      <div class="card">
        <p class="now-line">
          <span>Hone {version}</span>
          {isAway.value ? (
            <State of="unreachable" />
          ) : (
            faults.length === 0 && <State of="ok" says={`${counted(all.length, "part")} ok`} />
          )}
        </p>
        {!isAway.value &&
          faults.map(([name, state]) => (
            <p key={name} class="failure">
              {nameOf(name)}: {state}
            </p>
          ))}
        {note !== "" && <p class="warning">{note}</p>}
        <details>
          <summary>Parts</summary>
          <ul class="bare part-list">
            {all.map(([name, state]) => (
              <li key={name} class="now-line">
                <span>{nameOf(name)}</span>
                <State of={isAway.value ? "unknown" : state === "ok" ? "ok" : "failed"} />
              </li>
            ))}
          </ul>
        </details>
      </div>
    </section>
  );
}

function nameOf(part: string): string {
  return part.replaceAll("_", " ");
}
