// View of the user's key and usage. Administrators also see and manage all keys.
import type { OwnKey } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Facts, Shown, View } from "../components/shown.tsx";
import { useLoaded } from "../use-loaded.ts";
import { keyText } from "./key-title.ts";
import { KeyList } from "./key-list.tsx";
import { KeyViews } from "./key-views.tsx";
import { Prices } from "./prices.tsx";
import { UsageBars } from "./usage-bars.tsx";
import { UsedTokens } from "./used-tokens.tsx";

export function KeyView({ hone }: { readonly hone: Hone }) {
  const key = useLoaded((signal) => hone.server.key({ signal }), [hone]);
  return (
    <View title="Keys and usage">
      <Shown loaded={key}>
        {(own) => (
          <>
            <section class="card" aria-labelledby="key">
              <h2 id="key">Your key</h2>
              <Facts
                of={[
                  ["key", <span title={own.id}>{keyText(own.id)}</span>],
                  ["owner", own.owner],
                  ["entity", own.entity],
                  ["role", own.role],
                  ["scopes", own.scopes === null ? "all" : own.scopes.join(", ")],
                  ["project", own.project ?? "all"],
                ]}
              />
            </section>
            <KeyViews ownKey={own} />
            {own.role === "admin" && own.scopes === null && <KeyList hone={hone} />}
            <section>
              <KeyUsage hone={hone} own={own} />
            </section>
          </>
        )}
      </Shown>
    </View>
  );
}

function KeyUsage({ hone, own }: { readonly hone: Hone; readonly own: OwnKey }) {
  const isAllowed = own.project === null && (own.scopes === null || own.scopes.includes("read"));
  if (isAllowed)
    return (
      <>
        <UsageBars hone={hone} />
        <Prices hone={hone} />
        <UsedTokens hone={hone} isAdmin={own.role === "admin" && own.scopes === null} />
      </>
    );
  return (
    <>
      <h2>Usage</h2>
      <p class="muted">
        {own.project === null
          ? "Reading usage needs a key with the scope read."
          : `Usage covers a whole entity, and this key is limited to the project ${own.project}.`}
      </p>
    </>
  );
}
