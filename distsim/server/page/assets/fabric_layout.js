// Where the groups of a fabric stand: a row a tier, NICs below, spines on top; children near their parents.

const TOP = 26;
const ROW = 128;
const LAST_ROW = 92;
const LEFT = 78;
const BOX_HEIGHT = 24;

/** { boxes: [{ x, y, width, height }] by group, height, rows: [{ name, y }] } for a width in px. */
export function layout(graph, width) {
  const tiers = [...graph.tiers].sort((one, other) => one.tier - other.tier); // the spines first
  const parents = parentsOf(graph);
  const boxes = new Array(graph.groups.length);
  const rows = [];
  let y = TOP;
  tiers.forEach((tier, place) => {
    const here = graph.groups.map((group, index) => index).filter((index) => graph.groups[index].tier === tier.tier);
    const order = new Map(here.map((index) => [index, key(parents, boxes, index)]));
    here.sort((one, other) => order.get(one) - order.get(other) || one - other);
    const step = (width - LEFT - 12) / here.length;
    const wide = Math.min(step * (step > 24 ? 0.82 : 0.88), 120);
    here.forEach((index, at) => {
      boxes[index] = { x: LEFT + step * (at + 0.5) - wide / 2, y, width: wide, height: BOX_HEIGHT, step };
    });
    rows.push({ ...tier, y });
    y += place < tiers.length - 2 ? ROW : LAST_ROW;
  });
  return { boxes, rows, height: y - LAST_ROW + BOX_HEIGHT + 34 };
}

/** Where each edge is attached to its lower and upper box: x in px, apart, in the order of the other ends. */
export function attachments(graph, boxes) {
  const ends = graph.edges.map(() => ({}));
  for (const [mine, other] of [
    ["lower", "upper"],
    ["upper", "lower"],
  ]) {
    const at = graph.groups.map(() => []);
    graph.edges.forEach((edge, index) => at[edge[mine]].push(index));
    at.forEach((edges, group) => {
      const middle = (index) => boxes[graph.edges[index][other]].x + boxes[graph.edges[index][other]].width / 2;
      edges.sort((one, two) => middle(one) - middle(two));
      edges.forEach((index, place) => {
        ends[index][mine] = boxes[group].x + (boxes[group].width * (place + 1)) / (edges.length + 1);
      });
    });
  }
  return ends;
}

/** The text in a box: its name, or its number where there is no room, or nothing. */
export function label(group, box) {
  const room = Math.floor((box.width - 4) / 6.4);
  if (group.count > 1) return room >= String(group.count).length + 1 ? `${group.count}×` : "";
  if (group.name.length <= room) return group.name;
  const digits = /(\d+)$/.exec(group.name)?.[1] ?? "";
  return digits.length * 6.2 <= box.width - 1 ? digits : "";
}

function parentsOf(graph) {
  const found = graph.groups.map(() => []);
  for (const edge of graph.edges) found[edge.lower].push(edge.upper);
  return found;
}

/** NICs stand below their switch; switches, which have many parents, in their own order. */
function key(parents, boxes, index) {
  return parents[index].length === 1 && boxes[parents[index][0]] ? boxes[parents[index][0]].x : 0;
}
