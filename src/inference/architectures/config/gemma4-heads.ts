// Reads the numbers and sizes of Gemma 4's heads, which depend on the kind of a layer.
import type { CacheShape } from "../config.ts";
import type { ConfigReader } from "./config-reader.ts";

/**
 * Reads the number and size of each layer's key-value heads. Published files have one pair of fields for all layers
 * with full attention; files that Transformers 5.24 saves list the differing layers by index.
 */
export function gemma4Heads(reader: ConfigReader, kinds: readonly string[]): readonly CacheShape[] {
  const usual = {
    kvHeadCount: reader.count("num_key_value_heads", 4),
    headSize: reader.count("head_dim", 256),
  };
  const listed = reader.object("per_layer_config");
  if (listed !== null) {
    const heads = kinds.map((_, layer): CacheShape => {
      const own = listed.object(`${layer}`);
      if (own === null) return usual;
      for (const name of own.names)
        if (!["head_dim", "num_key_value_heads"].includes(name))
          own.refuse(name, "layers that differ in this field are not computed");
      return {
        kvHeadCount: own.count("num_key_value_heads", usual.kvHeadCount),
        headSize: own.count("head_dim", usual.headSize),
      };
    });
    refuseDifferent(listed, heads, kinds);
    return checked(reader, heads);
  }
  const isGlobal = reader.flag("attention_k_eq_v", false) && reader.get("num_global_key_value_heads");
  const full = {
    kvHeadCount: isGlobal ? reader.count("num_global_key_value_heads") : usual.kvHeadCount,
    headSize: reader.count("global_head_dim", 512),
  };
  return checked(
    reader,
    kinds.map((kind) => (kind === "full_attention" ? full : usual)),
  );
}

/**
 * Refuses a number of key-value heads among which the query heads cannot be divided evenly, and odd head sizes, which
 * cannot be rotated.
 */
function checked(reader: ConfigReader, heads: readonly CacheShape[]): readonly CacheShape[] {
  const queryHeads = reader.count("num_attention_heads", 8);
  if (heads.some(({ kvHeadCount }) => queryHeads % kvHeadCount !== 0))
    reader.refuse("num_attention_heads", "each layer's key-value heads must divide them evenly");
  if (heads.some(({ headSize }) => headSize % 2 !== 0))
    reader.refuse("head_dim", "the rotary embedding needs even head sizes");
  return heads;
}

/** Refuses layers of one kind with different heads: they share a rotary embedding, and may share keys and values. */
function refuseDifferent(listed: ConfigReader, heads: readonly CacheShape[], kinds: readonly string[]): void {
  for (const [layer, { headSize, kvHeadCount }] of heads.entries()) {
    const first = heads[kinds.indexOf(kinds[layer])];
    if (first.headSize === headSize && first.kvHeadCount === kvHeadCount) continue;
    listed.refuse(`${layer}`, "layers of one kind need heads of one size and number");
    return;
  }
}
