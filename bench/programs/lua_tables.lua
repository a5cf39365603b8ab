-- Trees that are built, kept or dropped; strings cut and joined; closures that hold closures.
-- Usage: lua_tables.lua [ROUNDS]      default: 50
-- The same numbers in every run: its own generator, and no table is read in the order of its hashes.
local rounds = tonumber(arg[1]) or 50

local state = 12345
local function next_number(below)
  state = (state * 1103515245 + 12345) % 2147483648
  return state // 65536 % below
end

-- A search tree of small tables, one per key.
local function insert(tree, key, value)
  if not tree then return { key = key, values = { value } } end
  if key < tree.key then
    tree.left = insert(tree.left, key, value)
  elseif key > tree.key then
    tree.right = insert(tree.right, key, value)
  else
    tree.values[#tree.values + 1] = value
  end
  return tree
end

local function walk(tree, visit)
  if not tree then return end
  walk(tree.left, visit)
  visit(tree)
  walk(tree.right, visit)
end

-- A pipeline of closures: each calls the one before it.
local function chain(length)
  local step = function(x) return x end
  for number = 1, length do
    local before = step
    step = function(x) return before(x + number % 3) end
  end
  return step
end

local kept, sum = {}, 0
for round = 1, rounds do
  local tree
  for _ = 1, 6000 do
    local key = string.format("key %d of %d", next_number(4000), round % 7)
    tree = insert(tree, key, next_number(1000))
  end
  local lines = {}
  walk(tree, function(node)
    lines[#lines + 1] = node.key .. "=" .. table.concat(node.values, ",")
  end)
  local text = table.concat(lines, "\n")
  local numbers = 0
  for key, values in text:gmatch("(key %d+) of %d=([%d,]+)") do
    for value in values:gmatch("%d+") do
      numbers = numbers + #key * tonumber(value)
    end
  end
  local upper = text:gsub("key (%d+)", function(digits) return "[" .. digits:reverse() .. "]" end)
  kept[round % 5 + 1] = { tree = tree, text = upper, chain = chain(round * 10 % 150) }
  sum = (sum * 31 + numbers + #upper + kept[round % 5 + 1].chain(round)) % 1000000007
end

local letters = 0
for _, each in ipairs(kept) do
  for position = 1, #each.text, 97 do letters = (letters * 7 + each.text:byte(position)) % 1000000007 end
end
print(rounds, sum, letters)
