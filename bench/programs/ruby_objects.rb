# Objects, hashes, arrays and strings of a small warehouse: orders come, are grouped, printed and forgotten.
# Usage: ruby_objects.rb [ORDERS]      default: 120000
# The same numbers in every run: its own generator, and hashes keep the order of insertion.
count = (ARGV[0] || 120_000).to_i

class Numbers
  def initialize(state)
    @state = state
  end

  def below(limit)
    @state = (@state * 1_103_515_245 + 12_345) % 2_147_483_648
    @state / 65_536 % limit
  end
end

Line = Struct.new(:article, :pieces, :price)
Order = Struct.new(:number, :customer, :lines, :notes) do
  def total = lines.sum { |line| line.pieces * line.price }
end

# A binary tree ordered by a key that a block computes.
class Tree
  include Enumerable
  Node = Struct.new(:key, :value, :left, :right)

  def initialize(&key)
    @key = key
    @root = nil
  end

  def add(value)
    node = Node.new(@key.call(value), value)
    return @root = node unless @root

    at = @root
    loop do
      side = (node.key <=> at.key).negative? ? :left : :right
      below = at[side]
      break at[side] = node unless below

      at = below
    end
  end

  def each(&block)
    path = []
    at = @root
    until at.nil? && path.empty?
      while at
        path << at
        at = at.left
      end
      at = path.pop
      block.call(at.value)
      at = at.right
    end
  end
end

numbers = Numbers.new(12_345)
by_customer = Hash.new { |hash, key| hash[key] = [] }
recent = []
count.times do |number|
  lines = Array.new(1 + numbers.below(6)) do
    Line.new("article #{numbers.below(700)}", 1 + numbers.below(9), 100 + numbers.below(9_900))
  end
  order = Order.new(number, "customer #{numbers.below(2_000)}", lines, "note on #{number} " * numbers.below(8))
  recent << order
  by_customer[order.customer] << recent.shift if recent.size > 1_000
  by_customer.delete("customer #{numbers.below(2_000)}") if (number % 5).zero?
end

tree = Tree.new { |order| [order.total, order.number] }
by_customer.each_value { |orders| orders.each { |order| tree.add(order) } }
text = tree.map { |order| "#{order.number};#{order.customer};#{order.lines.map(&:to_a).flatten.join('|')}" }.join("\n")
parsed = text.lines.map { |line| line.chomp.split(';') }
by_article = parsed.flat_map { |_, _, lines| lines.split('|').each_slice(3).to_a }.group_by(&:first)
turnover = by_article.transform_values { |lines| lines.sum { |_, pieces, price| pieces.to_i * price.to_i } }
best = turnover.sort_by { |article, sum| [-sum, article] }.first(10)
changed = text.gsub(/customer (\d+)/) { "c#{::Regexp.last_match(1).reverse}" }

puts [count, tree.count, text.length, changed.sum(32), turnover.values.sum, best.first.join('=')].join(' ')
