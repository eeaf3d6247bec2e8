# Runs one migration with Active Record, as Rails does. Arguments: the database's URL,
# the file with its statements, and waits or plain.
require "active_record"
require "tmpdir"

url, statements, how = ARGV
ActiveRecord::Base.establish_connection(url.sub("postgres://", "postgresql://"))
Dir.mktmpdir do |here|
  File.write(File.join(here, "1_network.rb"), <<~RUBY)
    class Network < ActiveRecord::Migration[6.1]
      #{"disable_ddl_transaction!" if how == "waits"} # docs/migrations.md

      def up
        #{File.readlines(statements, chomp: true).inspect}.each { |sql| execute sql }
      end
    end
  RUBY
  ActiveRecord::MigrationContext.new(here, ActiveRecord::SchemaMigration).up
end
