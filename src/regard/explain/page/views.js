// The parts of an explanation that can be shown. The page of a sentence shows all, the page of a run some.
import { alignmentView } from "./alignment.js";
import { arrayOf } from "./arrays.js";
import { attributionView } from "./attribution.js";
import { headsView } from "./heads.js";
import { largest, matrixView } from "./matrix.js";
import { mixingView } from "./mixing.js";
import { searchesView } from "./searches.js";
import { stepView } from "./step.js";
import { structureView } from "./structure.js";
import { whatIfView } from "./whatif.js";

const SVG_CELLS = 2500; // larger alignments are drawn on a canvas

function alignments(box, { alignments: maps }) {
  const [names, found] = [Object.keys(maps), Object.values(maps)];
  if (found[0].source_words.length * found[0].target_words.length <= SVG_CELLS) {
    alignmentView(box, found, names, "method");
    return;
  }
  const [map] = found;
  matrixView(box, {
    rows: map.target_words, columns: map.source_words, value: (row, column) => map.weights[row][column], scale: 1, label: "Alignment",
    tell: (row, column) => [["weight", map.weights[row][column]]],
  });
}

function poolingView(box, { pooling, source }) {
  const weights = arrayOf(pooling);
  matrixView(box, {
    rows: ["weight"], columns: source.tokens, value: (row, column) => weights.at(column), scale: largest(weights.data), label: "Pooling weights",
    tell: (row, column) => [["weight", weights.at(column)]],
  });
}

export const SENTENCE_PARTS = [
  {
    id: "alignment", name: "Alignment", title: "Where each word comes from",
    lead: "Each row is a word of the translation; the stronger a cell, the more of it comes from that source word, by the chosen method.",
    has: ({ alignments: maps }) => Object.keys(maps).length,
    build: alignments,
  },
  {
    id: "heads", name: "Heads", title: "Every head at a glance",
    lead: "A small map for each head, layer by layer; choose one to see it in detail.",
    has: ({ attention }) => Object.keys(attention).length,
    build: headsView,
  },
  {
    id: "step", name: "One step", title: "One step in full",
    lead: "A query is compared with every key; softmax makes weights of the scores; the weighted sum of the values is the head’s context. Blue is "
      + "positive, orange negative; point at a cell for its number.",
    has: ({ computation }) => Object.keys(computation).length,
    build: stepView,
  },
  {
    id: "mixing", name: "Mixing", title: "What each layer mixes",
    lead: "A layer without attention weights still has gates and filters. Of every layer gradients tell how far it reads.",
    has: ({ mixing }) => mixing.length,
    build: mixingView,
  },
  {
    id: "pooling", name: "Pooling", title: "Which words it weighs",
    lead: "A learned query gives each token a weight; the label is read from the weighted mean of their states. The weights sum to 1.",
    has: ({ pooling }) => pooling,
    build: poolingView,
  },
  {
    id: "search", name: "Search", title: "How it chose",
    lead: "Greedy search takes the likeliest token at every step; a beam keeps several hypotheses; exact search finds the most probable of all.",
    has: ({ searches }) => searches.length,
    build: searchesView,
  },
  {
    id: "attribution", name: "Attribution", title: "What bears on each word",
    lead: "Attention says where a model looks, not what it uses. These two methods change the source and see what the model makes of it.",
    has: ({ attribution }) => attribution,
    build: attributionView,
  },
  {
    id: "what-if", name: "What if", title: "What if it were otherwise",
    lead: "The same sentence with one thing changed. Under each word of the old translation: by how much its log-probability rose (blue) or fell (orange).",
    has: ({ what_if: changes }) => changes.length,
    build: whatIfView,
  },
  {
    id: "structure", name: "Structure", title: "How the network is made",
    lead: "Positions, neighbours of embeddings, lengths of states and of gradients from layer to layer, and how far a word’s influence travels.",
    has: ({ structure }) => structure,
    build: structureView,
  },
];
