// Table of all keys of the server, newest first, page by page. Only administrators see it.
import type { Key } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { listed, PagedTable } from "../components/paged-table.tsx";
import { shortId } from "../components/short-id.ts";
import { When } from "../components/shown.tsx";
import { addressOf, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";

const limit = 30;
const everyMs = 30_000;
const name = "keys_after";

export function KeyList({ hone }: { readonly hone: Hone }) {
  const after = place.value.query.get(name) ?? "";
  const loaded = useLoaded(
    async (signal) =>
      listed(await hone.keys.list({ limit, ...(after !== "" && { after }) }, { signal }).first()),
    [hone, after],
    everyMs,
  );
  return (
    <>
      <PagedTable
        loaded={loaded}
        label="Keys"
        columns={["name", "owner", "entity", "access", "last used", "expires"]}
        none={() => "No keys."}
        first={after === "" ? null : addressOf("usage")}
        nextOf={(last) => addressOf("usage", [], { [name]: last })}
      >
        {(key) => (
          <tr key={key.id}>
            <td title={key.id}>{key.name ?? shortId(key.id)}</td>
            <td>{key.owner}</td>
            <td>{key.role === "admin" ? "all (admin)" : key.entity}</td>
            <td>{openedBy(key)}</td>
            <td>
              <When at={key.last_used_at} />
            </td>
            <td>
              <End of={key} />
            </td>
          </tr>
        )}
      </PagedTable>
      <p class="muted">
        <code>hone keys create</code> creates a key, <code>hone keys revoke</code> revokes one.
      </p>
    </>
  );
}

function openedBy({ scopes, project }: Key): string {
  const what = scopes === null ? "everything" : scopes.join(", ");
  return project === null ? what : `${what}, only ${project}`;
}

function End({ of: { revoked_at: revokedAt, expires_at: expiresAt } }: { readonly of: Key }) {
  if (revokedAt !== null)
    return (
      <>
        revoked <When at={revokedAt} />
      </>
    );
  return <When at={expiresAt} />;
}
