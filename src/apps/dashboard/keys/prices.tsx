// Table of the prices by which the server computes costs; nothing if it has no prices. Only the operator changes them.
import type { Hone } from "../../client/hone.ts";
import { WideTable } from "../components/shown.tsx";
import { useLoaded } from "../use-loaded.ts";

const kinds = [
  ["prompt", "prompt tokens"],
  ["cached", "cached prompt tokens"],
  ["answer", "answer tokens"],
  ["training", "training tokens"],
] as const;

export function Prices({ hone }: { readonly hone: Hone }) {
  const { value } = useLoaded(
    async (signal) => {
      const names = await hone.served.bases({ signal });
      return Promise.all(names.map((name) => hone.served.get(name, { signal })));
    },
    [hone],
  );
  const priced = (value ?? []).flatMap(({ id, prices }) => (prices === null ? [] : [{ id, prices }]));
  const [first] = priced;
  if (first === undefined) return null;
  return (
    <details>
      <summary>Prices</summary>
      <p class="muted">
        Prices of a million tokens in {first.prices.currency}. A training token is charged for each pass over
        it. The operator sets the prices with <code>--costs-prices</code>.
      </p>
      <WideTable label="Prices">
        <thead>
          <tr>
            <th scope="col">base model</th>
            {kinds.map(([kind, title]) => (
              <th key={kind} scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {priced.map(({ id, prices }) => (
            <tr key={id}>
              <td>{id}</td>
              {kinds.map(([kind]) => (
                <td key={kind} class="number">
                  {prices[kind] ?? (kind === "cached" ? "as other prompt tokens" : "free")}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </WideTable>
    </details>
  );
}
