// View of the user's key and usage. Administrators also see all keys, and everyone sees the server's counts since its
// start.
import type { Hone } from "../../client/hone.ts";
import { readMetrics, type Sample, valueOf } from "../metrics.ts";
import { Facts, Shown, View } from "../components/shown.tsx";
import { useLoaded } from "../use-loaded.ts";
import { KeyList } from "./key-list.tsx";
import { UsedTokens } from "./used-tokens.tsx";

const everyMs = 10_000;

export function KeyView({ hone }: { readonly hone: Hone }) {
  const key = useLoaded((signal) => hone.server.key({ signal }), [hone]);
  const samples = useLoaded(
    async (signal) => readMetrics(await hone.server.metrics({ signal })),
    [hone],
    everyMs,
  );
  return (
    <View title="Key and usage">
      <section aria-labelledby="key">
        <h2 id="key">Your key</h2>
        <Shown loaded={key}>
          {({ owner, entity, role, id }) => (
            <Facts
              of={[
                ["owner", owner],
                ["entity", entity],
                ["role", role],
                ["key id", <code>{id}</code>],
              ]}
            />
          )}
        </Shown>
      </section>
      <section aria-labelledby="used">
        <h2 id="used">Usage</h2>
        <UsedTokens hone={hone} />
      </section>
      {key.value?.role === "admin" && key.value.scopes === null && (
        <section aria-labelledby="keys">
          <h2 id="keys">Keys</h2>
          <KeyList hone={hone} />
        </section>
      )}
      <section aria-labelledby="answered">
        <h2 id="answered">Requests since the server started</h2>
        <Shown loaded={samples}>{(read) => <Answered samples={read} />}</Shown>
        <p class="muted">These counts include the requests of all keys.</p>
      </section>
    </View>
  );
}

function Answered({ samples }: { readonly samples: readonly Sample[] }) {
  const number = (name: string, labels?: Readonly<Record<string, string>>): string =>
    (valueOf(samples, name, labels) ?? 0).toLocaleString("en");
  const tokens = "hone_chat_tokens_total";
  const bases = [
    ...new Set(samples.filter(({ name }) => name === tokens).map(({ labels }) => labels["base"] ?? "")),
  ];
  return (
    <>
      <Facts
        of={[
          ["requests", number("hone_http_requests_total")],
          ["chats", number("hone_chat_requests_total")],
        ]}
      />
      {bases.map((base) => (
        <section key={base} aria-label={base}>
          <h3>Tokens of {base}</h3>
          <Facts
            of={[
              ["in prompts", number(tokens, { base, kind: "prompt" })],
              ["of these, from the prefix cache", number(tokens, { base, kind: "cached" })],
              ["in answers", number(tokens, { base, kind: "completion" })],
            ]}
          />
        </section>
      ))}
    </>
  );
}
